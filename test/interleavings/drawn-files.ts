import { emailKey } from '../../lib/mail/address.ts';
import type { Draw } from './drawn-calls.ts';

/* Files of few names and values, so that most of them are about what is already there. */

export const LOGINS = ['una', 'Una', 'vic', 'wes', 'ada', 'bob', 'cyd'];
export const NAMES = ['Gate', 'Lock', 'Tap'];
/** With these, transactions end between two integrations. */
const MANY = Array.from({ length: 40 }, (_, number) => `Gate ${number}`);
const ROLES = [['ROLE_ADMIN', 'ROLE_USER'], ['ROLE_USER', 'ROLE_ADMIN'], ['ROLE_USER'], []];
const MASK = '********';
/** An integration can have twelve of these. */
const LARGE = 'x'.repeat(16_000);

/** The address of a login, unless somebody gives it to another one. */
export const addressOf = (login: string): string =>
  `${login === 'Una' ? 'capital' : login}@example.com`;

const subset = <T>(draw: Draw, all: readonly T[], probability = 0.35): T[] =>
  all.filter(() => draw.isTrue(probability));
const some = (draw: Draw, fields: object): object =>
  Object.fromEntries(subset(draw, Object.entries(fields), 0.5));

export function drawFiles(draw: Draw): object {
  const logins = subset(draw, draw.isTrue(0.03) ? [...LOGINS, 'system'] : LOGINS);
  const users = new Map(
    logins.map((login) => drawUser(draw, login)).map((user) => [emailKey(user.email), user]),
  );
  const names = draw.isTrue(0.1) ? MANY : NAMES;
  const bigness = draw.one([0, 0, 0.1, 0.8]);
  const integrations =
    names === MANY
      ? subset(draw, MANY, 0.9).map((name) => drawAmongMany(draw, name))
      : subset(draw, NAMES).map((name) => drawIntegration(draw, name, bigness));
  return {
    set: draw.one(['alpha', 'alpha', 'beta']),
    users: [...users.values()],
    integrations,
    prune: subset(draw, ['users', 'integrations', 'parameters']),
  };
}

function drawUser(draw: Draw, login: string) {
  const own = addressOf(login);
  const addresses = [own, own, own, `new-${own}`, own.toUpperCase(), addressOf(draw.one(LOGINS))];
  const others = {
    firstName: draw.one(['A', 'B', '']),
    lastName: draw.one(['C', null]),
    activated: draw.isTrue(0.8),
    langKey: draw.one(['en', 'de']),
    authorities: draw.one(ROLES),
  };
  return { login, email: draw.one(addresses), ...some(draw, others) };
}

function drawIntegration(draw: Draw, name: string, bigness: number) {
  // A transaction has the creations of 48 parameters.
  const isBig = draw.isTrue(bigness);
  const isLarge = draw.isTrue(0.03);
  const drawOne = (_: unknown, index: number) => ({
    confName: `p${index}`,
    ...some(draw, { confDescription: draw.one(['a', 'b', null]) }),
    ...(draw.isTrue(0.6)
      ? { confValue: isLarge ? LARGE : !isBig && draw.isTrue(0.01) ? MASK : draw.one(['a', 'b']) }
      : { secret: !isBig && draw.isTrue(0.1) ? 'keep' : drawVersion(draw) }),
  });
  return {
    name,
    shortName: draw.one(['a', 'b']),
    integrationType: 'API',
    ...some(draw, { description: draw.one(['a', 'b', null]), active: draw.isTrue(0.5) }),
    parameters: Array.from({ length: isBig ? 30 + draw.below(61) : draw.below(5) }, drawOne),
  };
}

/** An integration whose parameter alone changes, in a way that no rule forbids. */
const drawAmongMany = (draw: Draw, name: string) => ({
  name,
  shortName: 'a',
  integrationType: 'API',
  parameters: subset(draw, ['p0', 'p1'], 0.6).map((confName) => ({
    confName,
    ...(draw.isTrue(0.6) ? { confValue: draw.one(['a', 'b']) } : { secret: drawVersion(draw) }),
  })),
});

const drawVersion = (draw: Draw) => ({ name: draw.one(['S', 'T']), version: 1 + draw.below(2) });

/** The values of secrets; few are missing or cannot be stored. */
export const drawValues = (draw: Draw, secrets: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    subset(draw, secrets, 0.98).map((name) => [
      name,
      draw.isTrue(0.1) ? MASK : draw.isTrue(0.05) ? LARGE : `${name} ${draw.below(9)}`,
    ]),
  );
