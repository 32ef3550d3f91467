import { execFile } from 'node:child_process';
import { argon2Sync } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { requireArgon2 } from '../../lib/passwords/hasher.ts';

const MESSAGE =
  'Passwords require crypto.argon2: Node.js 24.7 or newer, built with OpenSSL 3.2 or newer';

describe('the self-test of argon2', () => {
  it('accepts the argon2 of this Node', () => {
    expect(() => requireArgon2(argon2Sync)).not.toThrow();
  });

  it.each<[string, typeof argon2Sync]>([
    ['is missing', undefined as never],
    [
      'is present and throws',
      () => {
        throw new Error('error:12800067:random number generator::unable to fetch drbg');
      },
    ],
    ['returns nothing', () => Buffer.alloc(0)],
  ])('fails with a one-sentence message when the function %s', (_, implementation) => {
    expect(() => requireArgon2(implementation)).toThrow(new Error(MESSAGE));
  });

  it.each(['argon2Sync = () => { throw new Error("unsupported") }', 'argon2Sync = undefined'])(
    'runs when the module loads: crypto.%s',
    async (broken) => {
      const setUp =
        `import crypto from 'node:crypto'; import { syncBuiltinESMExports } from 'node:module';` +
        `crypto.${broken}; syncBuiltinESMExports();`;
      const file = pathToFileURL(join(import.meta.dirname, '../../lib/passwords/hasher.ts')).href;
      const script =
        `${setUp} await import(${JSON.stringify(file)}).catch((error) => ` +
        'console.log(error.message));';

      const { stdout } = await promisify(execFile)(process.execPath, [
        '--input-type=module',
        '-e',
        script,
      ]);

      expect(stdout.trim()).toBe(MESSAGE);
    },
  );
});
