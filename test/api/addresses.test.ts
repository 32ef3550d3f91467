import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update } = useUsers(gatehouse);

/** Every request that gives a user an address. */
const CLAIMS: [string, (login: string, email: string) => ReturnType<typeof create>][] = [
  ['POST /api/users', (login, email) => create({ login, email })],
  [
    'PUT /api/users',
    async (login, email) => update({ ...(await gatehouse.makeUser(login)), email }),
  ],
  [
    'POST /api/account',
    async (login, email) => {
      const { token } = await gatehouse.makeCaller(login);
      return gatehouse.call('POST', '/api/account', { token, body: { email } });
    },
  ],
];

it.each(CLAIMS)('%s rejects an equivalent of a taken address with 400', async (route, claim) => {
  const login = `second-${route.length}`;
  const first = await create({ login: `${login}-a`, email: `${login}@b\u00FCcher.example` });

  const { status, body } = await claim(login, `${login}@xn--bcher-kva.example`);

  expect(first.status).toBe(201);
  expect([status, body.message]).toEqual([400, 'error.emailexists']);
});

it('mails go to a domain beyond ASCII, and not to a local part beyond ASCII', async () => {
  const addresses = ['asking@xn--bcher-kva.example', 'ask\u0130ng@example.com'];
  for (const [index, email] of addresses.entries()) {
    const { status } = await create({ login: `asking-${index}`, email });
    expect(status).toBe(201);
  }

  for (const email of addresses)
    await gatehouse.call('POST', '/api/account/reset-password/init', { body: { email } });

  const mails = await Promise.all(addresses.map((email) => gatehouse.mailsTo(email)));
  // An invitation and a reset.
  expect(mails.map(({ length }) => length)).toEqual([2, 0]);
  const linesWith = (field: string) => gatehouse.lines.filter((line) => line.includes(field));
  expect(linesWith('"mailsUnreachable":1')).toHaveLength(2);
  expect(linesWith('mailNotSent')).toEqual([]);
  const items = [...(await itemsOf(gatehouse.cloud)).values()];
  expect(items.filter(({ pk }) => /^(RESET-)?MAIL#/.test(pk))).toEqual([]);
});
