import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../console/api/request.ts';
import { same } from '../../console/conflict.ts';
import { errorsByField, fieldErrorText, fieldOfMessage, problemText } from '../../console/form.ts';
import { en } from '../../console/languages/en.ts';
import { UpdateAccount } from '../../lib/accounts/account-contracts.ts';
import { CreateIntegration } from '../../lib/integrations/integration-contracts.ts';
import { CreateParameter } from '../../lib/integrations/parameter-contracts.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';

const problemOf = (message: string, rest: Partial<Problem> = {}): Problem => ({
  status: 400,
  message,
  fieldErrors: [],
  ...rest,
});

describe('field errors', () => {
  const fieldErrors = [
    { objectName: 'user', field: 'email', message: 'Email' as const },
    { objectName: 'user', field: 'email', message: 'Size' as const },
    { objectName: 'user', field: 'authorities.1', message: 'Pattern' as const },
    { objectName: 'user', field: 'imageUrl', message: 'Size' as const },
  ];

  it('are shown beside their fields, the first of each', () => {
    const problem = problemOf('error.validation', { fieldErrors });

    const { byField, others } = errorsByField(problem, new Set(['email', 'authorities']));

    expect([...byField].map(([name, { message }]) => [name, message])).toEqual([
      ['email', 'Email'],
      ['authorities', 'Pattern'],
    ]);
    expect(others.map(({ field }) => field)).toEqual(['imageUrl']);
  });

  it.each([
    [{ min: 4, max: 100 }, 'Between 4 and 100 characters.'],
    [{ max: 50 }, 'At most 50 characters.'],
    [{ min: 1 }, 'At least 1.'],
    [{}, 'This is shorter or longer than allowed.'],
    [{ min: 1, max: 16384, unit: 'bytes' as const }, 'At most 16384 bytes.'],
  ])('with the limits %j read: %s', (limits, text) => {
    expect(fieldErrorText({ objectName: 'u', field: 'f', message: 'Size', ...limits }, en)).toBe(
      text,
    );
  });
});

describe('a message about one field', () => {
  const shown = new Set(['login', 'email', 'newPassword', 'currentPassword', 'code']);

  it.each([
    ['error.userexists', 'login'],
    ['error.emailexists', 'email'],
    ['error.commonpassword', 'newPassword'],
    ['error.wrongcode', 'code'],
    ['error.lastadmin', undefined],
  ])('%s belongs to %s', (message, field) => {
    expect(fieldOfMessage(problemOf(message), shown)).toBe(field);
  });

  it('a wrong current password is told by its type', () => {
    const type = 'https://www.jhipster.tech/problem/invalid-password';
    const problem = problemOf('error.http.400', { type });

    expect(fieldOfMessage(problem, shown)).toBe('currentPassword');
    expect(problemText(problem, en)).toBe(en.wrongPassword);
  });
});

describe('the text of a problem', () => {
  it('names the request id of a defect', () => {
    const text = problemText(problemOf('error.http.500', { status: 500, requestId: 'r-1' }), en);

    expect(text).toContain('r-1');
  });

  it('of an unknown message says the message and the status', () => {
    expect(problemText(problemOf('error.new', { status: 418 }), en)).toMatch(/418.*error\.new/);
    expect(problemText(problemOf('toString', { status: 418 }), en)).toMatch(/418/);
  });

  it('of an unknown failure of the server says that the outcome is unknown', () => {
    const text = problemText(problemOf('error.http.504', { status: 504 }), en);

    expect(text).toBe(en.errors['error.http.503']);
  });
});

it.each([
  [null, '', true],
  [undefined, null, true],
  ['a', 'b', false],
  [false, undefined, true],
  [true, undefined, false],
  [['a', 'b'], ['b', 'a'], true],
  [['a'], ['a', 'b'], false],
  [['a', 'a'], ['a', 'b'], false],
])('%j and %j are the same: %s', (one, other, expected) => {
  expect([same(one, other), same(other, one)]).toEqual([expected, expected]);
});

/** What the page knows, what has a button or a form of its own, and what only clients set. */
const NOT_ON_FORMS = ['id', 'integration', 'activated', 'password', 'imageUrl'];

it.each([
  ['user-form.tsx', UpdateUser],
  ['account.tsx', UpdateAccount],
  ['integrations.tsx', CreateIntegration],
  ['parameter-form.tsx', CreateParameter],
])('%s has a control for every field', (view, { body }) => {
  const source = readFileSync(join(import.meta.dirname, '../../console/views', view), 'utf8');

  const fields = Object.keys(body.entries).filter((field) => !NOT_ON_FORMS.includes(field));
  expect(fields.length).toBeGreaterThan(3);
  const missing = fields.filter((field) => !source.includes(`name="${field}"`));
  expect(missing, 'Show it, or list it in NOT_ON_FORMS').toEqual([]);
});
