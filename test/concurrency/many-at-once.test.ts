import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { repeatWhileBusy } from '../support/instance/repeat-while-busy.ts';

const gatehouse = await useGatehouse();

it('50 users that are created concurrently have 50 distinct ids and are all counted', async () => {
  const token = await gatehouse.adminToken();
  const names = Array.from({ length: 50 }, (_, n) => `crowd-${n}`);
  const create = (login: string) =>
    gatehouse.call('POST', '/api/users', {
      token,
      body: { login, email: `${login}@example.com` },
    });

  const responses = await Promise.all(names.map((name) => repeatWhileBusy(() => create(name))));

  const outcomes = responses.map(({ status, body }) => (status === 201 ? 'made' : body.message));
  // A creation that was answered with 503 may have been made, and its repetition is rejected.
  expect(['made', 'error.userexists']).toEqual(expect.arrayContaining(outcomes));
  const { headers, body } = await gatehouse.call('GET', '/api/users?size=2000', { token });
  expect(headers['x-total-count']).toBe('52');
  expect(new Set(body.map(({ id }: { id: number }) => id)).size).toBe(52);
  expect(body.map(({ login }: { login: string }) => login)).toEqual(expect.arrayContaining(names));
});
