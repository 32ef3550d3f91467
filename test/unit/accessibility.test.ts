import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { expect, it } from 'vitest';
import { withGenerated } from '../support/costs/generated-tables.ts';

/** Where a criterion is tested: the folder and the beginning of the title of a test. */
type Evidence = readonly string[];

interface Criterion {
  readonly name: string;
  readonly level: 'A' | 'AA';
  /** Tests of our own, beside the rules of axe. */
  readonly tests?: Evidence;
  /** What the tests do not say. */
  readonly remark?: string;
  /** Why the criterion does not apply. */
  readonly absent?: string;
}

const NO_MEDIA = 'no sound and no video';
const KEYBOARD = [
  'an administrator logs in, invites, deactivates and deletes a user',
  'an administrator filters, edits, configures, reads the trail',
];
const SOUND = ['every screen behind the log-in is sound'];
const REFUSED = 'keeps what was typed when it is refused, and leads to the field';
const DELETED = 'a deletion needs the name and returns the focus when it is cancelled';

/** The criteria of WCAG 2.2, levels A and AA: https://www.w3.org/TR/WCAG22/ */
const CRITERIA: Readonly<Record<string, Criterion>> = {
  '1.1.1': {
    name: 'Non-text Content',
    level: 'A',
    remark:
      'a QR code has a name and its secret as text beside it, the chart a table; icons repeat words',
  },
  '1.2.1': { name: 'Audio-only and Video-only (Prerecorded)', level: 'A', absent: NO_MEDIA },
  '1.2.2': { name: 'Captions (Prerecorded)', level: 'A', absent: NO_MEDIA },
  '1.2.3': { name: 'Audio Description or Media Alternative', level: 'A', absent: NO_MEDIA },
  '1.2.4': { name: 'Captions (Live)', level: 'AA', absent: NO_MEDIA },
  '1.2.5': { name: 'Audio Description (Prerecorded)', level: 'AA', absent: NO_MEDIA },
  '1.3.1': { name: 'Info and Relationships', level: 'A', tests: SOUND },
  '1.3.2': { name: 'Meaningful Sequence', level: 'A', tests: SOUND },
  '1.3.3': {
    name: 'Sensory Characteristics',
    level: 'A',
    remark: 'no text refers to a place, a shape or a colour',
  },
  '1.3.4': { name: 'Orientation', level: 'AA', remark: 'no style depends on the orientation' },
  '1.3.5': {
    name: 'Identify Input Purpose',
    level: 'AA',
    tests: ['passwords and codes can be pasted, and password managers know their fields'],
  },
  '1.4.1': {
    name: 'Use of Color',
    level: 'A',
    remark: 'every state is a word; links in sentences are underlined',
  },
  '1.4.2': { name: 'Audio Control', level: 'A', absent: NO_MEDIA },
  '1.4.3': { name: 'Contrast (Minimum)', level: 'AA', tests: SOUND },
  '1.4.4': {
    name: 'Resize Text',
    level: 'AA',
    tests: ['nothing is cut off or overflows when the text is %s'],
  },
  '1.4.5': { name: 'Images of Text', level: 'AA', absent: 'no images of text' },
  '1.4.10': { name: 'Reflow', level: 'AA', tests: SOUND, remark: 'at 320 pixels' },
  '1.4.11': {
    name: 'Non-text Contrast',
    level: 'AA',
    tests: SOUND,
    remark: 'the borders of all fields; the focus has the colour of links',
  },
  '1.4.12': {
    name: 'Text Spacing',
    level: 'AA',
    tests: ['nothing is cut off or overflows when the text is %s'],
  },
  '1.4.13': {
    name: 'Content on Hover or Focus',
    level: 'AA',
    remark:
      'whole texts and exact times appear in their place on hover and focus, and stay until then',
  },
  '2.1.1': { name: 'Keyboard', level: 'A', tests: KEYBOARD },
  '2.1.2': { name: 'No Keyboard Trap', level: 'A', tests: [...KEYBOARD, DELETED] },
  '2.1.4': {
    name: 'Character Key Shortcuts',
    level: 'A',
    tests: ['single signs open the field or the shortcuts until they are switched off'],
  },
  '2.2.1': {
    name: 'Timing Adjustable',
    level: 'A',
    tests: ['goes on with the request when the session has ended'],
    remark: 'a session that expires asks for the password, and nothing is lost',
  },
  '2.2.2': {
    name: 'Pause, Stop, Hide',
    level: 'A',
    remark: 'nothing moves; new audit entries are announced, and shown on demand only',
  },
  '2.3.1': { name: 'Three Flashes or Below Threshold', level: 'A', absent: 'nothing flashes' },
  '2.4.1': {
    name: 'Bypass Blocks',
    level: 'A',
    tests: ['the first Tab of a page offers to skip to its content'],
  },
  '2.4.2': { name: 'Page Titled', level: 'A', tests: SOUND },
  '2.4.3': {
    name: 'Focus Order',
    level: 'A',
    tests: [
      ...KEYBOARD,
      REFUSED,
      DELETED,
      'a parameter is added, shown, edited and deleted where it stands',
    ],
  },
  '2.4.4': { name: 'Link Purpose (In Context)', level: 'A', tests: SOUND },
  '2.4.5': {
    name: 'Multiple Ways',
    level: 'AA',
    tests: ['Ctrl K leads to a user'],
    remark: 'the navigation, lists with filters, and addresses that can be shared',
  },
  '2.4.6': { name: 'Headings and Labels', level: 'AA', tests: SOUND },
  '2.4.7': { name: 'Focus Visible', level: 'AA', tests: KEYBOARD },
  '2.4.11': { name: 'Focus Not Obscured (Minimum)', level: 'AA', tests: KEYBOARD },
  '2.5.1': { name: 'Pointer Gestures', level: 'A', absent: 'no gestures' },
  '2.5.2': { name: 'Pointer Cancellation', level: 'A', remark: 'controls of the browser only' },
  '2.5.3': { name: 'Label in Name', level: 'A', tests: SOUND },
  '2.5.4': { name: 'Motion Actuation', level: 'A', absent: 'no motion' },
  '2.5.7': { name: 'Dragging Movements', level: 'AA', absent: 'nothing is dragged' },
  '2.5.8': { name: 'Target Size (Minimum)', level: 'AA', tests: SOUND },
  '3.1.1': { name: 'Language of Page', level: 'A', tests: SOUND },
  '3.1.2': {
    name: 'Language of Parts',
    level: 'AA',
    remark: 'the names of languages are in their own language',
  },
  '3.2.1': { name: 'On Focus', level: 'A', tests: KEYBOARD },
  '3.2.2': { name: 'On Input', level: 'A', tests: KEYBOARD, remark: 'only buttons act' },
  '3.2.3': { name: 'Consistent Navigation', level: 'AA', tests: SOUND },
  '3.2.4': {
    name: 'Consistent Identification',
    level: 'AA',
    tests: ['every text of the dictionary is used'],
  },
  '3.2.6': { name: 'Consistent Help', level: 'A', absent: 'the console offers no help' },
  '3.3.1': { name: 'Error Identification', level: 'A', tests: [REFUSED] },
  '3.3.2': { name: 'Labels or Instructions', level: 'A', tests: SOUND },
  '3.3.3': {
    name: 'Error Suggestion',
    level: 'AA',
    tests: [
      'every message of the service has a text',
      'the last administrator is explained, with a way to the administrators',
    ],
  },
  '3.3.4': {
    name: 'Error Prevention (Legal, Financial, Data)',
    level: 'AA',
    tests: [
      DELETED,
      'shows whose change came between, and saves the choice of each field',
      'recovery codes and the secret of a credential are not left without a question',
    ],
  },
  '3.3.7': {
    name: 'Redundant Entry',
    level: 'A',
    tests: ['leads from the invitation to a log-in with a code', REFUSED],
  },
  '3.3.8': {
    name: 'Accessible Authentication (Minimum)',
    level: 'AA',
    tests: ['passwords and codes can be pasted, and password managers know their fields'],
  },
  '4.1.2': { name: 'Name, Role, Value', level: 'A', tests: SOUND },
  '4.1.3': {
    name: 'Status Messages',
    level: 'AA',
    tests: [REFUSED, 'every screen behind the log-in is sound'],
    remark: 'their regions exist before they speak, which is tested on every screen',
  },
};

const DOCUMENT = join(import.meta.dirname, '../../docs/console.md');
const CONSOLE = join(import.meta.dirname, '../console');
const TESTS = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(join(CONSOLE, file), 'utf8') }));

/** How many rules of axe test a criterion, whose tag is `wcag1410` for 1.4.10. */
const rulesOf = (criterion: string): number =>
  axe.getRules([`wcag${criterion.replaceAll('.', '')}`]).length;

const sorted = Object.entries(CRITERIA).sort(([one], [other]) =>
  one.localeCompare(other, 'en', { numeric: true }),
);

it('every criterion has evidence that exists', () => {
  const titles = [...new Set(sorted.flatMap(([, { tests = [] }]) => tests))];
  const missing = titles.filter((title) => !TESTS.some(({ text }) => text.includes(`'${title}`)));
  const unproved = sorted.filter(
    ([number, { tests, remark, absent }]) => !(tests || remark || absent || rulesOf(number) > 0),
  );

  expect(sorted).toHaveLength(55);
  expect(missing).toEqual([]);
  expect(unproved).toEqual([]);
});

it('the conformance report in docs/console.md is current; -u updates it', async () => {
  const rows = sorted.map(([number, { name, level, tests, remark, absent }]) => {
    const rules = rulesOf(number);
    const evidence = [
      ...(rules > 0 ? [`axe, ${rules} rule${rules > 1 ? 's' : ''}`] : []),
      ...(tests ?? []).map((title) => {
        const { file } = TESTS.find(({ text }) => text.includes(`'${title}`)) as { file: string };
        return `[${title}](../test/console/${file})`;
      }),
      ...(remark ? [remark] : []),
      ...(absent ? [absent] : []),
    ];
    const conformance = absent ? 'does not apply' : 'supports';
    return `| ${number} ${name} | ${level} | ${conformance} | ${evidence.join('; ')} |`;
  });

  const head = ['| criterion | level | conformance | evidence and remarks |', '|---|---|---|---|'];
  const document = withGenerated(readFileSync(DOCUMENT, 'utf8'), {
    criteria: [...head, ...rows].join('\n'),
  });
  await expect(document).toMatchFileSnapshot(DOCUMENT);
});
