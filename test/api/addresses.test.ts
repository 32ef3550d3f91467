import { describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { emailGuardKey, entityKey } from '../../lib/table/keys.ts';
import { put, remove, set } from '../../lib/table/write.ts';
import { formerEmailKey } from '../../lib/users/email-key.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update, remove: removeUser, get } = useUsers(gatehouse);

let number = 0;

describe('the e-mail address of a user', () => {
  it.each([
    ['a dotted capital I', 'info@one.example', '\u0130nfo@one.example'],
    ['an ideographic full stop', 'ada@two.example', 'ada@two\u3002example'],
    ['punycode', 'ada@b\u00FCcher.example', 'ada@xn--bcher-kva.example'],
    ['punycode of a sharp s', 'ada@stra\u00DFe.example', 'ada@xn--strae-oqa.example'],
    ['a trailing dot (DNS root)', 'ada@three.example', 'ada@three.example.'],
  ])(
    'is rejected with 400 when another user has an equivalent address: %s',
    async (_, one, other) => {
      const login = `first-${++number}`;

      const first = await create({ login, email: one });
      const second = await create({ login: `${login}-b`, email: other });
      const third = await create({ login: `${login}-c`, email: `${login}@example.com` });
      const moved = await update({ ...third.body, email: other });

      expect(first.status).toBe(201);
      expect([second.status, second.body.message]).toEqual([400, 'error.emailexists']);
      expect([moved.status, moved.body.message]).toEqual([400, 'error.emailexists']);
    },
  );

  it.each([
    'ada\u200B@four.example',
    'ada\u00AD@four.example',
    'ada@fo\u200Dur.example',
    '\u2060ada@four.example',
  ])('is rejected with 400 when it contains invisible characters: %j', async (email) => {
    const { status, body } = await create({ login: 'invisible', email });

    expect([status, body.fieldErrors]).toEqual([
      400,
      [{ objectName: 'user', field: 'email', message: 'Email' }],
    ]);
  });
});

describe('a user whose e-mail guard has a key of the former rule', () => {
  /**
   * A user as an earlier release stored it: its uniqueness guard has the key of the former rule.
   */
  async function storeLegacyUser(login: string, email: string) {
    const { body } = await create({ login, email: `${login}@example.com` });
    const always = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    const stored = {
      email,
      emailKeyRule: undefined,
      accountStamp: undefined,
      resetStamp: undefined,
    };
    await commit(gatehouse.table, [
      remove(emailGuardKey(`${login}@example.com`), always),
      put(emailGuardKey(formerEmailKey(email)), { id: body.id }),
      set(entityKey('USER', body.id), stored, always),
    ]);
    return { ...body, email };
  }
  const guardOf = async (key: string) => (await gatehouse.table.get(emailGuardKey(key)))?.id;

  const FORMS: [form: string, email: string, recipient: string | undefined][] = [
    ['ASCII', 'early-1@example.com', 'early-1@example.com'],
    ['punycode', 'early-2@xn--bcher-kva.example', 'early-2@xn--bcher-kva.example'],
    ['sharp s', 'early-3@stra\u00DFe.example', 'early-3@xn--strae-oqa.example'],
    ['a dotted capital I', 'early-4\u0130@example.com', undefined],
    ['an ideographic full stop', 'early-5@example\u3002com', 'early-5@example.com'],
  ];

  it('can request a reset, whose mail SES rejects only for a local part beyond ASCII', async () => {
    for (const [form, email] of FORMS)
      await storeLegacyUser(`asking-${form.length}`, `asking-${email}`);

    await Promise.all(
      FORMS.map(([, email]) =>
        gatehouse.call('POST', '/api/account/reset-password/init', {
          body: { email: `asking-${email}` },
        }),
      ),
    );

    for (const [form, , recipient] of FORMS) {
      expect(await gatehouse.mailsTo(`asking-${recipient}`), form).toHaveLength(recipient ? 1 : 0);
    }
    expect(
      gatehouse.lines.filter((line) => line.includes('"mailNotSent":"BadRequestException"')),
    ).toHaveLength(1);
  });

  it.each([...FORMS, ['a zero-width space', 'early-6\u200B@example.com', undefined] as const])(
    'can be found, updated and deleted: %s',
    async (form, email) => {
      const login = `early-${form.length}`;
      const user = await storeLegacyUser(login, email);
      const respelled = email.includes('\u200B') ? { email: 'early-6@example.com' } : { email };

      const renamed = await update({ ...user, ...respelled, firstName: 'Early' });
      const moved = await update({ ...user, email: `moved-${login}@example.com` });

      expect([renamed.status, moved.status]).toEqual([200, 200]);
      expect(await guardOf(formerEmailKey(email))).toBeUndefined();
      expect(await guardOf(`moved-${login}@example.com`)).toBe(user.id);
      expect((await removeUser(login)).status).toBe(200);
      expect((await get(login)).status).toBe(404);
    },
  );

  it.each([
    ['create', 'early-a@xn--bcher-kva.example', 'EARLY-a@xn--bcher-kva.example'],
    ['create', 'early-b@xn--bcher-kva.example', 'early-b@b\u00FCcher.example'],
    ['create', 'early-c@example\u3002com', 'early-c@example\u3002com'],
    ['update', 'early-d@xn--bcher-kva.example', 'early-d@b\u00FCcher.example'],
    ['own account', 'early-e@xn--bcher-kva.example', 'early-e@XN--bcher-kva.example'],
  ])('keeps its address unique: %s rejects %s spelled as %s with 400', async (how, email, same) => {
    const login = email.slice(0, email.indexOf('@'));
    await storeLegacyUser(login, email);
    const other = await create({ login: `${login}-other`, email: `${login}@other.example` });
    const token = await gatehouse.tokenOf(`${login}-other`);

    const { status, body } =
      how === 'create'
        ? await create({ login: `${login}-twin`, email: same })
        : how === 'update'
          ? await update({ ...other.body, email: same })
          : await gatehouse.call('POST', '/api/account', { token, body: { email: same } });

    expect([status, body.message]).toEqual([400, 'error.emailexists']);
  });

  it('cannot take the spelling that another account holds by the former rule', async () => {
    const user = await storeLegacyUser('early-f', 'early-f@b\u00FCcher.example');
    await storeLegacyUser('early-g', 'early-f@xn--bcher-kva.example');

    const { status, body } = await update({ ...user, email: 'early-f@xn--bcher-kva.example' });

    expect([status, body.message]).toEqual([400, 'error.emailexists']);
  });

  it('can change the spelling of its address, and then has a current guard', async () => {
    const user = await storeLegacyUser('early-own', 'early-own@xn--bcher-kva.example');

    const { status } = await update({ ...user, email: 'Early-Own@xn--bcher-kva.example' });

    expect(status).toBe(200);
    expect(await guardOf('early-own@xn--bcher-kva.example')).toBeUndefined();
    expect(await guardOf('early-own@b\u00FCcher.example')).toBe(user.id);
  });

  it('leaves no guard behind when it is deleted', async () => {
    const email = 'early@xn--bcher-kva.example';
    await storeLegacyUser('early', email);

    const { status } = await removeUser('early');

    expect(status).toBe(200);
    expect(await guardOf(formerEmailKey(email))).toBeUndefined();
  });
});
