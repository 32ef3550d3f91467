import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact } from '../support/instance/intact.ts';

describe('concurrent creations', async () => {
  const gatehouse = await useGatehouse();
  let token: string;
  beforeAll(async () => {
    token = await gatehouse.adminToken();
  });
  const create = (login: string, email: string) =>
    gatehouse.call('POST', '/api/users', { token, body: { login, email } });

  it('give 50 users 50 distinct ids and count them all', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `crowd-${n}`);
    const responses = await Promise.all(names.map((name) => create(name, `${name}@example.com`)));

    expect(responses.map(({ status }) => status).filter((status) => status !== 201)).toEqual([]);
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(50);
    const { headers, body } = await gatehouse.call('GET', '/api/users?size=2000', { token });
    expect(headers['x-total-count']).toBe('52');
    expect(body.map(({ login }: { login: string }) => login)).toEqual(
      expect.arrayContaining(names),
    );
  });

  it('give an e-mail address in several spellings to exactly one user', async () => {
    const spellings = [
      'kelvin@example.com',
      'KELVIN@EXAMPLE.COM',
      '\u212Aelvin@example.com',
      'Kelvin@Example.com',
      '\uFF4Belvin@example.com',
    ];
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        create(`twin-${n}`, spellings[n % spellings.length] as string),
      ),
    );

    const messages = responses
      .filter(({ status }) => status !== 201)
      .map(({ body }) => body.message);
    expect(messages).toEqual(Array(39).fill('error.emailexists'));
  });

  it('leave the table intact', () => expectIntact(gatehouse));
});
