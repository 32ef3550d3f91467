import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { expect, it } from 'vitest';
import { withGenerated } from '../support/costs/generated-tables.ts';

interface Criterion {
  /** The beginnings of the titles of tests, beside the rules of axe. */
  readonly tests?: readonly string[];
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

/** The criteria of WCAG 2.2 with their levels: https://www.w3.org/TR/WCAG22/ */
const CRITERIA: Readonly<Record<string, Criterion>> = {
  '1.1.1 Non-text Content (A)': {
    remark:
      'a QR code has a name and its secret as text beside it, the chart a table; icons repeat words',
  },
  '1.2.1 Audio-only and Video-only (Prerecorded) (A)': { absent: NO_MEDIA },
  '1.2.2 Captions (Prerecorded) (A)': { absent: NO_MEDIA },
  '1.2.3 Audio Description or Media Alternative (A)': { absent: NO_MEDIA },
  '1.2.4 Captions (Live) (AA)': { absent: NO_MEDIA },
  '1.2.5 Audio Description (Prerecorded) (AA)': { absent: NO_MEDIA },
  '1.3.1 Info and Relationships (A)': { tests: SOUND },
  '1.3.2 Meaningful Sequence (A)': { tests: SOUND },
  '1.3.3 Sensory Characteristics (A)': { remark: 'no text refers to a place, a shape or a colour' },
  '1.3.4 Orientation (AA)': { remark: 'no style depends on the orientation' },
  '1.3.5 Identify Input Purpose (AA)': {
    tests: ['passwords and codes can be pasted, and password managers know their fields'],
  },
  '1.4.1 Use of Color (A)': { remark: 'every state is a word; links in sentences are underlined' },
  '1.4.2 Audio Control (A)': { absent: NO_MEDIA },
  '1.4.3 Contrast (Minimum) (AA)': { tests: SOUND },
  '1.4.4 Resize Text (AA)': { tests: ['nothing is cut off or overflows when the text is %s'] },
  '1.4.5 Images of Text (AA)': { absent: 'no images of text' },
  '1.4.10 Reflow (AA)': { tests: SOUND, remark: 'at 320 pixels' },
  '1.4.11 Non-text Contrast (AA)': {
    tests: SOUND,
    remark: 'the borders of all fields; the focus has the colour of links',
  },
  '1.4.12 Text Spacing (AA)': { tests: ['nothing is cut off or overflows when the text is %s'] },
  '1.4.13 Content on Hover or Focus (AA)': {
    remark:
      'whole texts and exact times appear in their place on hover and focus, and stay until then',
  },
  '2.1.1 Keyboard (A)': { tests: KEYBOARD },
  '2.1.2 No Keyboard Trap (A)': { tests: [...KEYBOARD, DELETED] },
  '2.1.4 Character Key Shortcuts (A)': {
    tests: ['single signs open the field or the shortcuts until they are switched off'],
  },
  '2.2.1 Timing Adjustable (A)': {
    tests: ['goes on with the request when the session has ended'],
    remark: 'a session that expires asks for the password, and nothing is lost',
  },
  '2.2.2 Pause, Stop, Hide (A)': {
    remark: 'nothing moves; new audit entries are announced, and shown on demand only',
  },
  '2.3.1 Three Flashes or Below Threshold (A)': { absent: 'nothing flashes' },
  '2.4.1 Bypass Blocks (A)': { tests: ['the first Tab of a page offers to skip to its content'] },
  '2.4.2 Page Titled (A)': { tests: SOUND },
  '2.4.3 Focus Order (A)': {
    tests: [
      ...KEYBOARD,
      REFUSED,
      DELETED,
      'a parameter is added, shown, edited and deleted where it stands',
    ],
  },
  '2.4.4 Link Purpose (In Context) (A)': { tests: SOUND },
  '2.4.5 Multiple Ways (AA)': {
    tests: ['Ctrl K leads to a user'],
    remark: 'the navigation, lists with filters, and addresses that can be shared',
  },
  '2.4.6 Headings and Labels (AA)': { tests: SOUND },
  '2.4.7 Focus Visible (AA)': { tests: KEYBOARD },
  '2.4.11 Focus Not Obscured (Minimum) (AA)': { tests: KEYBOARD },
  '2.5.1 Pointer Gestures (A)': { absent: 'no gestures' },
  '2.5.2 Pointer Cancellation (A)': { remark: 'controls of the browser only' },
  '2.5.3 Label in Name (A)': { tests: SOUND },
  '2.5.4 Motion Actuation (A)': { absent: 'no motion' },
  '2.5.7 Dragging Movements (AA)': { absent: 'nothing is dragged' },
  '2.5.8 Target Size (Minimum) (AA)': { tests: SOUND },
  '3.1.1 Language of Page (A)': { tests: SOUND },
  '3.1.2 Language of Parts (AA)': { remark: 'the names of languages are in their own language' },
  '3.2.1 On Focus (A)': { tests: KEYBOARD },
  '3.2.2 On Input (A)': { tests: KEYBOARD, remark: 'only buttons act' },
  '3.2.3 Consistent Navigation (AA)': { tests: SOUND },
  '3.2.4 Consistent Identification (AA)': { tests: ['every text of the dictionary is used'] },
  '3.2.6 Consistent Help (A)': { absent: 'the console offers no help' },
  '3.3.1 Error Identification (A)': { tests: [REFUSED] },
  '3.3.2 Labels or Instructions (A)': { tests: SOUND },
  '3.3.3 Error Suggestion (AA)': {
    tests: [
      'every message of the service has a text',
      'the last administrator is explained, with a way to the administrators',
    ],
  },
  '3.3.4 Error Prevention (Legal, Financial, Data) (AA)': {
    tests: [
      DELETED,
      'shows whose change came between, and saves the choice of each field',
      'recovery codes and the secret of a credential are not left without a question',
    ],
  },
  '3.3.7 Redundant Entry (A)': {
    tests: ['leads from the invitation to a log-in with a code', REFUSED],
  },
  '3.3.8 Accessible Authentication (Minimum) (AA)': {
    tests: ['passwords and codes can be pasted, and password managers know their fields'],
  },
  '4.1.2 Name, Role, Value (A)': { tests: SOUND },
  '4.1.3 Status Messages (AA)': {
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

const criteria = Object.entries(CRITERIA).map(([title, criterion]) => {
  const [, number = '', name, level] = /^(\S+) (.+) \((AA?)\)$/.exec(title) ?? [];
  return { number, name, level, rules: rulesOf(number), ...criterion };
});

it('every criterion has evidence that exists', () => {
  const titles = [...new Set(criteria.flatMap(({ tests = [] }) => tests))];
  const missing = titles.filter((title) => !TESTS.some(({ text }) => text.includes(`'${title}`)));
  const unproved = criteria.filter(
    ({ tests, remark, absent, rules }) => !(tests || remark || absent || rules > 0),
  );

  expect(criteria).toHaveLength(55);
  expect(missing).toEqual([]);
  expect(unproved).toEqual([]);
});

it('the conformance report in docs/console.md is current; -u updates it', async () => {
  const rows = criteria.map(({ number, name, level, tests, remark, absent, rules }) => {
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
