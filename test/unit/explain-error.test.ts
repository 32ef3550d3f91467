import { describe, expect, it } from 'vitest';
import { explainError } from '../../infra/explain-error.ts';

describe('the explanation of an error', () => {
  const malformed = new Error('backend: database disk image is malformed');

  it('names the database of the local service and the remedy when it is damaged', () => {
    expect(explainError(malformed, undefined)).toBe(
      '.local/gatehouse.db is not a valid database: ' +
        'restore .local from a backup, or delete it to start over without its data.',
    );
  });

  it('names the setting that is not a URL, which Node does not do', () => {
    const error = Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' });

    expect(explainError(error, 'Gate')).toBe('The endpoint_url of the AWS profile is not a URL.');
  });

  it('does not name it for a deployed table', () => {
    expect(explainError(malformed, 'Gate')).toBe(malformed.message);
  });
});
