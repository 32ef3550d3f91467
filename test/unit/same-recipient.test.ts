import { expect, it } from 'vitest';
import { isSameRecipient } from '../../lib/mail/address.ts';

it.each([
  ['Kim@example.com', 'kim@EXAMPLE.com', true],
  ['\u212Aim@example.com', 'kim@example.com', false],
])('mail to %s and %s reaches the same mailbox: %s', (one, other, isSame) =>
  expect(isSameRecipient(one, other)).toBe(isSame),
);
