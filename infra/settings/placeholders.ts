/*
 * Values that only stand for an operator's own: names reserved by RFC 2606 and RFC 6761,
 * addresses of this machine, and the accounts in AWS's documentation.
 */
const HOST =
  /(?:^|\.)example\.(?:com|net|org)$|\.(?:example|test|invalid|localhost)$|^localhost$|^127\.|^\[::1\]$/i;
const ACCOUNT = /^(arn:.*:)?(123456789012|111122223333)(:|$)/;

/** The paths of all placeholders in the settings of an environment, each with its value. */
export function placeholdersIn(value: unknown, path = ''): { path: string; value: string }[] {
  if (typeof value === 'string')
    return HOST.test(hostIn(value)) || ACCOUNT.test(value) ? [{ path, value }] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    placeholdersIn(part, path ? `${path}.${name}` : name),
  );
}

/** The host of a URL or an e-mail address; anything else may be a host itself. */
const hostIn = (value: string): string =>
  URL.parse(value)?.hostname || value.slice(value.indexOf('@') + 1);
