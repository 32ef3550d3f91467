import { describe, expect, it, vi } from 'vitest';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';

const ADA = { login: 'lovelace', email: 'ada@engine.example' };

describe('a password policy', () => {
  it('requires its minimum of code points, and tells the limits of the field', () => {
    const policy = openPasswordPolicy({ minimum: 8, rejectCommon: false });

    expect(() => policy.requireLength('newPassword', '\u{1f40e}'.repeat(8))).not.toThrow();
    expect(() => policy.requireLength('newPassword', '\u{1f40e}'.repeat(7))).toThrow(
      expect.objectContaining({
        code: 'invalid',
        fieldErrors: [{ field: 'newPassword', message: 'Size', min: 8, max: 100 }],
      }),
    );
  });

  it.each(['dragon', 'L0velace!', 'ada.'])('rejects %s only if it rejects common ones', (text) => {
    const open = (rejectCommon: boolean) => openPasswordPolicy({ minimum: 4, rejectCommon });

    expect(() => open(false).requireUncommon(text, ADA)).not.toThrow();
    expect(() => open(true).requireUncommon(text, ADA)).toThrow('common-password');
    expect(() => open(true).requireUncommon('ripe walnuts fall', ADA)).not.toThrow();
  });

  it.each([
    ['6', 'true', ['invalid', 'common-password']],
    ['5', undefined, []],
  ])('comes from the settings of the stack: %s, %s', (minimum, rejectCommon, expected) => {
    vi.stubEnv('PASSWORD_MINIMUM', minimum);
    vi.stubEnv('REJECT_COMMON_PASSWORDS', rejectCommon);

    const { requireLength, requireUncommon } = openPasswordPolicy();

    const rejections = [
      () => requireLength('password', 'x9k2v'),
      () => requireUncommon('dragon', ADA),
    ].flatMap((check) => {
      try {
        check();
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    });
    expect(rejections).toEqual(expected);
  });
});
