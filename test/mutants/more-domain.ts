// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source, with its templates.
import type { Mutant } from './mutant.ts';

/** Mutants of one file that the same tests notice: each text, and what it becomes. */
const planted = (file: string, killedBy: readonly string[], ...changes: readonly [from: string, to: string][]) =>
  changes.map(([from, to]): Mutant => ({ file, from, to, killedBy }));

/** More mutants of the domain and its edges: mostly promises that nothing awaits, limits, and the handling of outages. */
export const moreDomain: readonly Mutant[] = [
  ...planted(
    'lib/accounts/login-throttle-rules.ts',
    ['test/unit/login-throttle-rules.test.ts'],
    ['Math.ceil((retryAt - now) / 1000)', 'Math.floor((retryAt - now) / 1000)'],
    ['AND (attribute_not_exists(#requests) OR #requests < :requestLimit)', 'AND #requests < :requestLimit'],
    [
      'put(keys.network, { ...counted, expires: network.expires })',
      'put(keys.network, { ...counted, expires: seconds(now) + FAILURE_MEMORY_SECONDS })',
    ],
  ),
  ...planted(
    'lib/accounts/change-password.ts',
    ['test/unit/accounts.test.ts'],
    ['  await settleAll([attempt', '  void settleAll([attempt'],
  ),
  ...planted(
    'lib/accounts/login-throttle.ts',
    ['test/unit/login-throttle.test.ts'],
    ['const MAX_TRIES = 5;', 'const MAX_TRIES = 1;'],
    ['await ignoreUnavailable(settleAll(', 'void ignoreUnavailable(settleAll('],
    [
      '      await count(keys.source, sourceFailures, 1, arrivedAt);',
      '      void count(keys.source, source, 1, arrivedAt);',
    ],
    ['await count(key, await readCount(key), 0, arrivedAt);', 'void count(key, await readCount(key), 0, arrivedAt);'],
  ),
  ...planted(
    'lib/accounts/log-in.ts',
    ['test/unit/accounts.test.ts'],
    ["isLogin(login) ? login : ''", 'login'],
    ["guard ? entityKey('USER', guard.id as number) : guardKey", "entityKey('USER', guard?.id as number)"],
    ['  await attempt.clearFailures();', '  void attempt.clearFailures();'],
    ['await renewHash(table', 'void renewHash(table'],
    ['await ignoreUnavailable(commit(', 'void ignoreUnavailable(commit('],
  ),
  ...planted(
    'lib/accounts/password-reset.ts',
    ['test/unit/accounts.test.ts'],
    ['setDeadline(DURATION_MS - MARGIN_MS + CALL_RESERVE_MS)', 'setDeadline(DURATION_MS)'],
    ['if (notified) await mailer.notify', 'if (notified) void mailer.notify'],
    ['if (mail) await mailer.sendLink', 'if (mail) void mailer.sendLink'],
  ),
  ...planted(
    'lib/contract/source.ts',
    ['test/unit/source.test.ts'],
    [".map((group) => Number.parseInt(group || '0', 16).toString(16))", ''],
  ),
  ...planted(
    'lib/accounts/update-account.ts',
    ['test/unit/user-changes.test.ts'],
    ['if (notified) await mailer', 'if (notified) void mailer'],
  ),
  ...planted(
    'lib/audit/audit-contracts.ts',
    ['test/unit/contracts.test.ts'],
    ["      actorId: 'number',\n      action: {", '      action: {'],
  ),
  ...planted(
    'lib/audit/read-audits.ts',
    ['test/unit/audit.test.ts'],
    ['if (!last) continue;', 'if (!last) break;'],
    ['if (found.length > end) break;', 'if (found.length >= end) break;'],
    ['await spend(items.length * UNITS_PER_ENTRY);', 'void spend(items.length * UNITS_PER_ENTRY);'],
  ),
  ...planted(
    'lib/runtime/aws.ts',
    ['test/unit/aws.test.ts'],
    [".on('timeout', () => request.destroy())", ".on('timeout', () => undefined)"],
    [
      'httpsAgent: new https.Agent({ keepAlive: true, maxSockets: 50 })',
      'httpsAgent: new https.Agent({ maxSockets: 50 })',
    ],
  ),
  ...planted(
    'lib/runtime/cold-start.ts',
    ['test/unit/aws.test.ts'],
    ['started.push(work().catch(() => undefined));', 'started.push(work());'],
  ),
  ...planted('lib/contract/fields.ts', ['test/unit/schemas.test.ts']),
  ...planted(
    'lib/status/health.ts',
    ['test/unit/views.test.ts'],
    ['await table.get(rosterKey);', 'void table.get(rosterKey);'],
  ),
  ...planted(
    'lib/http/response.ts',
    ['test/unit/response.test.ts'],
    ['page - 1 <= (last ?? page) ? page - 1 : -1', 'page - 1'],
  ),
  ...planted(
    'lib/http/endpoint.ts',
    ['test/unit/endpoint.test.ts'],
    ['timeoutEarlyInMillis: 0', 'timeoutEarlyInMillis: 500'],
    [
      'request.response.statusCode, Date.now() - started, failure.code);',
      'request.response.statusCode, Date.now() - started);',
    ],
  ),
  ...planted(
    'lib/http/json-limits.ts',
    ['test/unit/json-limits.test.ts'],
    ['const key: string = JSON.parse(token);', 'const key = token;'],
  ),
  ...planted(
    'lib/http/request.ts',
    ['test/unit/endpoint.test.ts'],
    ['values[name] = [...(values[name] ?? []), value];', 'values[name] = [value];'],
  ),
  ...planted(
    'lib/integrations/integration-contracts.ts',
    ['test/unit/schemas.test.ts'],
    ["active: v.nullish(v.boolean('TypeMismatch'), true)", "active: v.optional(v.boolean('TypeMismatch'), true)"],
  ),
  ...planted(
    'lib/integrations/sealed-value.ts',
    ['test/unit/sealed-value.test.ts'],
    ['wrapped.length >> 8, wrapped.length & 0xff', '0, wrapped.length'],
  ),
  ...planted(
    'lib/contract/list-query.ts',
    ['test/unit/list-query.test.ts'],
    [
      'value === undefined || every((part) => !contains(part))',
      'value !== undefined && every((part) => !contains(part))',
    ],
  ),
  ...planted(
    'lib/mail/mail-limit.ts',
    ['test/unit/mail.test.ts'],
    ['Math.ceil(since / 1000) + WINDOW_SECONDS', 'Math.ceil(since / 1000)'],
  ),
  ...planted(
    'lib/mail/mail.ts',
    ['test/unit/mail.test.ts'],
    ['Object.hasOwn(templates, user.langKey) ? templates[user.langKey] : undefined', 'templates[user.langKey]'],
    ["  openConnection('email');\n", ''],
    ['  await mailer\n    .sendLink', '  void mailer\n    .sendLink'],
    ['await ses.send(mail, abortBeforeDeadline(timeoutMs));', 'ses.send(mail, abortBeforeDeadline(timeoutMs));'],
  ),
  ...planted(
    'lib/passwords/passwords.ts',
    ['test/unit/password-hash.test.ts'],
    [
      'const computed = await mac(password, salt, cost, key);',
      'const computed = await mac(password, salt, COST, key);',
    ],
    ['Number(memory) > 262_144', 'Number(memory) > 26_214'],
  ),
  ...planted(
    'lib/table/change.ts',
    ['test/unit/change.test.ts'],
    ['bound = Math.min(2 * bound, MAX_WAIT_MS);', 'bound = 2 * bound;'],
    ["if (outcome === 'changed') timesChanged++;", 'timesChanged++;'],
    [
      "if (otherCodes.length > 0) return 'busy';\n",
      "if (otherCodes.length > 0 && failedWrites.length === 0) return 'busy';\n",
    ],
    ['    await onContention();', '    void onContention();'],
  ),
  ...planted(
    'lib/table/list.ts',
    ['test/unit/list.test.ts'],
    ['Math.max(0, id - 1)', 'id - 1'],
    ['if (counted !== undefined) await pay(', 'if (counted !== undefined) void pay('],
    ['  await pay(limit);', '  void pay(limit);'],
    ['  await spend(Math.min(', '  void spend(Math.min('],
  ),
  ...planted('lib/table/read-budget.ts', ['test/unit/read-budget.test.ts'], ['expiry(latest + cost)', 'expiry(now)']),
  ...planted(
    'lib/tokens/signing-keys.ts',
    ['test/unit/tokens.test.ts'],
    ['items.filter((item) => !isNotBefore(item)).map(', 'items.map('],
    ['await change(table, () => table.get(key), decide);', 'void change(table, () => table.get(key), decide);'],
  ),
  ...planted(
    'lib/tokens/verify-token.ts',
    ['test/unit/signing-keys.test.ts'],
    [
      'if (now - readAt > KEY_SET_MAX_AGE_MS) await readKeys();',
      'if (now - readAt > KEY_SET_MAX_AGE_MS) void readKeys();',
    ],
    ['    readAt = Date.now();\n', ''],
    [
      'if (now - readAt > KEY_SET_MAX_AGE_MS) await readKeys();',
      'if (now - readAt > KEY_SET_MAX_AGE_MS) await readKeys().catch(() => undefined);',
    ],
  ),
  ...planted(
    'lib/users/administrators.ts',
    ['test/unit/write.test.ts'],
    [
      'if (before && administers(before) && !administers(after)) return [leaveRoster(before.id)];',
      'if (before && administers(before) && !after) return [leaveRoster(before.id)];',
    ],
  ),
  ...planted(
    'lib/authorization/authorize.ts',
    ['test/unit/authorize.test.ts'],
    ['if (Date.now() + wait > giveUpAt)', 'if (Date.now() > giveUpAt)'],
    ['await takePrecedence(table, targetUser.id);', 'void takePrecedence(table, targetUser.id);'],
  ),
  ...planted(
    'lib/users/first-administrator.ts',
    ['test/unit/rare-changes.test.ts'],
    ['if (roster?.ids) return undefined;', 'if (roster) return undefined;'],
  ),
  ...planted(
    'lib/authorization/precedence.ts',
    ['test/unit/rare-changes.test.ts'],
    ['await commit(table', 'void commit(table'],
  ),
  ...planted(
    'lib/users/update-user.ts',
    ['test/unit/user-changes.test.ts'],
    ['if (notified) await mailer', 'if (notified) void mailer'],
  ),
  ...planted(
    'lib/contract/entity-fields.ts',
    ['test/unit/views.test.ts', 'test/unit/user-changes.test.ts'],
    ['entity[name] ?? null', 'entity[name] || null'],
    ['entity[name] ?? null', 'entity[name]'],
  ),
  ...planted(
    'lib/contract/entity-fields.ts',
    ['test/unit/user-changes.test.ts'],
    ['names.filter((name) => name in from)', 'names.filter((name) => from[name] !== undefined)'],
    ['fields[name]?.editable', 'fields[name]'],
  ),
  ...planted(
    'lib/users/user-table.ts',
    ['test/unit/user-changes.test.ts'],
    ["names: { '#hash': 'passwordHash' },", "names: { '#hash': 'resetStamp' },"],
  ),
];
