import { expect, it } from 'vitest';
import { qrPath } from '../../console/qr.ts';
import { claimsOf, mustEnrol } from '../../console/session.ts';

const tokenOf = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;

it('reads login, environment and session of a token, also beyond ASCII', () => {
  const claims = { iss: 'gatehouse-prod-eu', sub: '7', preferred_username: 'ann~ä' };

  expect(claimsOf(tokenOf(claims))).toEqual({
    id: '7',
    login: 'ann~ä',
    environment: 'prod-eu',
  });
});

it.each(['', 'x', 'a.b.c', 'a.e30'])('has no login for the token %j', (token) => {
  expect(claimsOf(token)?.login ?? 'undefined').toBe('undefined');
});

it.each([
  [{ secondFactor: false, secondFactorRequiredFrom: '2027-01-15' }, true],
  [{ secondFactor: false, secondFactorRequiredFrom: '2027-01-16' }, false],
  [{ secondFactor: true, secondFactorRequiredFrom: '2027-01-15' }, false],
  [{ secondFactor: false, secondFactorRequiredFrom: null }, false],
])('on 2027-01-15, %j must enrol: %s', (account, expected) => {
  expect(mustEnrol(account, new Date('2027-01-15T00:00:00Z'))).toBe(expected);
});

it('draws a QR code with quiet modules around it', () => {
  const { path, size } = qrPath('otpauth://totp/gatehouse-dev:admin?secret=JBSWY3DPEHPK3PXP');
  const runs = [...path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)].map((run) =>
    run.slice(1).map(Number),
  );

  // The upper edges of the finder patterns are seven modules wide.
  expect(runs[0]).toEqual([4, 4, 7]);
  expect((size - 8 - 21) % 4).toBe(0);
  expect(runs.every(([x = 0, y = 0, width = 0]) => x >= 4 && x + width <= size - 4 && y >= 4)).toBe(
    true,
  );
});
