import { describe, expect, it } from 'vitest';
import { useGatehouse } from './support/gatehouse.ts';

const gatehouse = useGatehouse();

describe('creating a user', () => {
  it('needs a login and an e-mail address only', async () => {
    const token = await gatehouse.logIn('admin');

    const { status, body, headers } = await gatehouse.call('POST', '/api/users', {
      token,
      body: { login: 'plain', email: 'plain@example.com' },
    });

    expect(status).toBe(201);
    expect(headers.location).toBe('/api/users/plain');
    expect(body).toMatchObject({ login: 'plain', activated: true, langKey: 'en', authorities: [], createdBy: 'admin' });
  });
});
