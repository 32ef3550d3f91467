// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of the source is quoted
import { type Mutant, plant } from './mutant.ts';

/** The functions and their rows, the stack and its settings, table verification, and the operator's commands. */
export const moreOperations: readonly Mutant[] = [
  ...plant('functions/authenticate.ts', 'test/api/success-headers.test.ts', [
    ['Authorization: `Bearer ${token}`', 'Authorization: token'],
  ]),
  ...plant('functions/create-user.ts', 'test/api/reset.test.ts', [['if (key) await invite(', 'if (key) void invite(']]),
  ...plant('functions/create-user.ts', 'test/api/success-headers.test.ts', [
    ['${encodeURIComponent(user.login)}', '${encodeURI(user.login)}'],
  ]),
  ...plant('functions/create-parameter.ts', 'test/api/success-headers.test.ts', [
    ['`/api/utm-integration-confs/${parameter.id}`', '`/api/utm-integrations/${parameter.integration.id}`'],
  ]),
  ...plant('functions/delete-integration.ts', 'test/api/conditional.test.ts', [
    ['path.id, precondition)', 'path.id, undefined)'],
  ]),
  ...plant('functions/delete-parameter.ts', 'test/api/success-headers.test.ts', [
    ["alert(DeleteParameter.entityName, 'deleted', path.id)", "alert(DeleteParameter.entityName, 'updated', path.id)"],
  ]),
  ...plant('functions/update-user.ts', 'test/api/success-headers.test.ts', [['ok(userView(user), {', 'ok(user, {']]),
  ...plant('functions/update-parameter.ts', 'test/api/success-headers.test.ts', [
    [
      "alert(UpdateParameter.entityName, 'updated', parameter.id)",
      "alert(UpdateParameter.entityName, 'updated', parameter.integration.id)",
    ],
    ['etag(parameter)', 'etag(parameter.integration)'],
  ]),
  ...plant('functions/publish-keys.ts', 'test/api/authentication.test.ts', [
    ['max-age=300', 'max-age=86400'],
    [
      'const { keys } = await readKeySet(table);\n  return ok({ keys }',
      'const keys = await readKeySet(table);\n  return ok(keys',
    ],
  ]),
  ...plant('functions/count-integrations.ts', 'test/api/read-budget.test.ts', [
    ['readBudget(table, caller)', 'async () => undefined'],
  ]),
  ...plant('functions/list-users.ts', 'test/api/read-budget.test.ts', [
    ['readBudget(table, caller)', 'readBudget(table, { ...caller, id: 0 })'],
  ]),
  ...plant('functions/verify-table.ts', 'test/unit/daily-verification.test.ts', [
    ['if (findings.length > 0)', 'if (findings.length > 0 || undecided.length > 0)'],
  ]),
  ...plant('routes.ts', 'test/unit/contracts.test.ts', [
    ['contract: Parameters.CountParameters', 'contract: Parameters.ListParameters'],
    ['contract: Integrations.GetIntegration', 'contract: Integrations.CreateIntegration'],
  ]),
  ...plant('routes.ts', 'test/stack/facts.test.ts', [
    [
      "permissions: { get: [RESET, USER, MAILS], batchGet: [ATTEMPTS], put: [ATTEMPTS, MAILS, AUDIT], update: [USER], updateOutsideTransaction: [ATTEMPTS], delete: [RESET], keys: ['pepper'], mail }, strictThrottle },",
      "permissions: { get: [RESET, USER, MAILS], batchGet: [ATTEMPTS], put: [ATTEMPTS, MAILS, AUDIT], update: [USER], updateOutsideTransaction: [ATTEMPTS], delete: [RESET], keys: ['pepper'], mail } },",
    ],
    [
      'query: [CONF], put: [AUDIT], update: [TOTAL], delete: [INTEGRATION, CONF], conditionCheck: [USER]',
      'query: [CONF], put: [AUDIT], update: [TOTAL, CONF], delete: [INTEGRATION, CONF], conditionCheck: [USER]',
    ],
    [
      "if (contract.access === 'public') return permissions;",
      "if (contract.access === 'public' || permissions.keys?.includes('unseal')) return permissions;",
    ],
  ]),
  ...plant('infra/gatehouse-stack.ts', 'test/stack/facts.test.ts', [
    ['env: { region: settings.region }', "env: { region: 'eu-central-1' }"],
    ['terminationProtection: settings.keepData', "terminationProtection: environment !== 'dev'"],
  ]),
  ...plant('infra/constructs/gatehouse-function.ts', 'test/stack/facts.test.ts', [
    ['settings.keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY', 'RemovalPolicy.RETAIN'],
  ]),
  ...plant('infra/constructs/administration-table.ts', 'test/stack/facts.test.ts', [
    ['deletionProtection: keepData', 'deletionProtection: true'],
  ]),
  ...plant('infra/constructs/http-api.ts', 'test/stack/facts.test.ts', [
    ["'Content-Type', 'If-Match']", "'Content-Type']"],
    ['retention: logRetentionDays', 'retention: 365'],
  ]),
  ...plant('infra/constructs/keys.ts', 'test/stack/facts.test.ts', [
    [
      "sign: { variable: 'SIGNING_KEYS', keys: this.signing,",
      "sign: { variable: 'SIGNING_KEYS', keys: this.signing.slice(0, 1),",
    ],
  ]),
  ...plant('infra/constructs/mail.ts', 'test/stack/facts.test.ts', [
    ["[arn('configuration-set', configurationSet)]", "[arn('configuration-set', '*')]"],
  ]),
  ...plant('infra/constructs/daily-verification.ts', 'test/stack/facts.test.ts', [
    ['treatMissingData: TreatMissingData.NOT_BREACHING', 'treatMissingData: TreatMissingData.BREACHING'],
  ]),
  ...plant('infra/constructs/endpoint-function.ts', 'test/stack/facts.test.ts', [
    ['settings.tokenLife.rememberedMinutes * 60', 'settings.tokenLife.minutes * 24 * 60'],
  ]),
  ...plant('infra/settings.ts', 'test/unit/settings.test.ts', [
    [
      "{ templates: node.tryGetContext('mailTemplates'), ...own.mail }",
      "{ ...own.mail, templates: node.tryGetContext('mailTemplates') }",
    ],
    ['v.regex(/^[A-Za-z0-9_-]{1,64}$/)', 'v.regex(/[A-Za-z0-9_-]{1,64}/)'],
    ['v.regex(/^SigningKey[A-Za-z0-9]*$/)', 'v.regex(/^[A-Za-z0-9]+$/)'],
    ['      v.minLength(1),\n', ''],
    [
      'v.check((origin) => URL.parse(origin)?.origin === origin',
      "v.check((origin) => origin.startsWith(URL.parse(origin)?.origin ?? ' ')",
    ],
    [':\\d{12}:', ':\\d*:'],
    ['tokenLife: v.pipe(\n    v.strictObject', 'tokenLife: v.pipe(\n    v.object'],
    ["text: v.pipe(v.string(), v.excludes('{link}'))", 'text: v.string()'],
    [
      'const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(1));',
      'const positiveInteger = v.pipe(v.number(), v.minValue(1));',
    ],
    [
      "logRetentionDays: v.picklist(Object.values(RetentionDays).filter((days) => typeof days === 'number'))",
      'logRetentionDays: count',
    ],
  ]),
  ...plant('lib/integrity/item-kinds.ts', 'test/unit/item-kinds.test.ts', [
    [' && key.sk === idText(id);', ';'],
    ['parameterBytes: v.optional(count), version, revision: count', 'parameterBytes: count, version, revision: count'],
    [
      'key.pk.startsWith(prefix) && key.pk.length > prefix.length && key.sk === sk',
      'key.pk.startsWith(prefix) && key.sk === sk',
    ],
    ['/^AUDIT#\\d{4}-\\d{2}$/.test(key.pk) && key.sk.startsWith', '/^AUDIT#/.test(key.pk) && key.sk.startsWith'],
    ['item.sk !== kid || jwk.kid !== kid', 'item.sk !== kid && jwk.kid !== kid'],
    [
      '[...new Set(issues.map((issue) => v.getDotPath(issue) ?? issue.path?.[0].key))]',
      'issues.map((issue) => v.getDotPath(issue) ?? issue.path?.[0].key)',
    ],
    ['pk === notBeforeKey.pk && sk === notBeforeKey.sk', 'sk === notBeforeKey.sk'],
  ]),
  ...plant('lib/integrity/guards.ts', 'test/unit/findings.test.ts', [
    [
      "writes: [claim(key, { id: holder.id }, 'retry'), userIs(holder)],",
      "writes: [claim(key, { id: holder.id }, 'retry')],",
    ],
    ['const MAX_HOLDERS = 50;', 'const MAX_HOLDERS = 100;'],
    ['(named && findDefect(named))', '(holder && named && findDefect(named))'],
    [
      'set(key, { id: holder.id }, stillNamed), userIs(holder), unchangedSinceRead(id, named)',
      'set(key, { id: holder.id }, stillNamed), unchangedSinceRead(id, named)',
    ],
    [
      "check(entityKey('USER', id), { condition: 'attribute_not_exists(pk)', onConditionFailed: 'retry' })",
      "check(entityKey('USER', id), { condition: 'attribute_not_exists(login)', onConditionFailed: 'retry' })",
    ],
  ]),
  ...plant('lib/integrity/counters.ts', 'test/unit/findings.test.ts', [
    ['revision: revision + 1,', 'revision,'],
    ["`${equals('n', n)} AND ${equals('changes', changes)}`", "equals('n', n)"],
    [
      'const canHaveParameters = Number.isSafeInteger(parameterId(id, 0));',
      'const canHaveParameters = Number.isSafeInteger(id);',
    ],
    ['new Set([...seen.integrations.keys(), ...seen.parameters.keys()])', 'seen.integrations.keys()'],
    ['const ever = Math.max(parametersEver, highest);', 'const ever = highest;'],
    ["condition: 'attribute_not_exists(#n) OR #n < :highest'", "condition: '#n < :highest'"],
  ]),
  ...plant('lib/integrity/counters.ts', 'test/unit/verification-during-changes.test.ts', [
    [
      'if (!isSame(totalIn(before), total)) wrong = undefined;',
      'if (totalIn(before).n !== total.n) wrong = undefined;',
    ],
    [
      'else if (wrong && isSame(wrong.total, total) && wrong.count === count) wrong.times++;',
      'else if (wrong && wrong.count === count) wrong.times++;',
    ],
    ['if (before?.revision === after?.revision) {', 'if (after && before?.revision === after.revision) {'],
  ]),
  ...plant('lib/integrity/roster.ts', 'test/unit/findings.test.ts', [
    [
      'if (user && !findDefect(user) && administers(verifiedUserOf(user))) return false;',
      'if (user && administers(verifiedUserOf(user))) return false;',
    ],
    [
      "if (!noneLeft) return { ...leaveRoster(id), onConditionFailed: 'retry' };",
      'if (!noneLeft) return leaveRoster(id);',
    ],
  ]),
  ...plant('lib/integrity/verify-table.ts', 'test/unit/findings.test.ts', [
    ['counts[kind] = (counts[kind] ?? 0) + 1', 'counts[kind] = 1'],
    ['const defect = item && findDefect(item);', 'const defect = findDefect(item ?? { ...key });'],
  ]),
  ...plant('lib/integrity/repair-table.ts', 'test/unit/verification-during-changes.test.ts', [
    ["=== 'busy' && tries < MAX_TRIES", "=== 'busy' && tries > MAX_TRIES"],
    ["if (!('writes' in remedy)) continue;", "if (!('writes' in remedy)) break;"],
  ]),
  ...plant('infra/verify.ts', 'test/local/commands.test.ts', [
    ['return undecided.length > 0 ? NOT_VERIFIED : INTACT;', 'return INTACT;'],
    [
      "if (repair && verification.findings.some(({ remedy }) => 'writes' in remedy)) {",
      'if (repair && verification.findings.length > 0) {',
    ],
    ['    report(verification);\n    await repairTable', '    await repairTable'],
    ["if (table === '') fail(`--table requires a name\\n${USAGE}`);", ''],
    ['printError(messageOf(error));\n  return NOT_VERIFIED;', 'printError(messageOf(error));\n  return FINDINGS;'],
  ]),
  ...plant('infra/adopt.ts', 'test/local/commands.test.ts', [
    ['/^[1-9]\\d{0,8}$/', '/^\\d{1,9}$/'],
    ['if (error instanceof NotGatehouseTable)\n    fail(', 'if (error instanceof NotGatehouseTable)\n    print('],
    ['const skip = values.skip ?? String(SKIPPED_IDS);', 'const skip = values.skip || String(SKIPPED_IDS);'],
  ]),
  ...plant('infra/first-admin.ts', 'test/local/commands.test.ts', [
    [
      "if (error instanceof Failure && error.code === 'unavailable') {",
      "if (error instanceof Error && error.name === 'TimeoutError') {",
    ],
  ]),
  ...plant('infra/local/iam/policy.ts', 'test/local/policy.test.ts', [
    [
      'return (values) => !isNull(values) && values.some(isExpected);',
      'return (values) => !isNull(values) && values.every(isExpected);',
    ],
    ["source(segment, '[^:]').replace(/\\[\\^:\\]\\*$/, '[^]*')", "source(segment, '[^:]')"],
    ["wildcards(action, '[^]', 'i')", "wildcards(action, '[^]')"],
    ['Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined', 'OPERATORS[name]'],
    [".replaceAll('?', any)", ''],
  ]),
  ...plant('infra/local/iam/authorization.ts', 'test/unit/authorization.test.ts', [
    ['if (input.ConfigurationSetName) resources.push(`configuration-set/${input.ConfigurationSetName}`);', ''],
    ['    documents.delete(role);\n', ''],
    ['/^[A-Z]+(#\\*)?$/.test(leadingKey)', '/^[A-Z]+/.test(leadingKey)'],
    ["operation.startsWith('Transact')", "operation === 'TransactWriteItems'"],
    ["id.startsWith('arn:') ? id : keyArn(stack.region, id)", 'id'],
  ]),
  ...plant('infra/local/calls/actions.ts', 'test/unit/authorization.test.ts', [
    [
      "['TransactWriteItems', 'PutItem', 'UpdateItem', 'DeleteItem']",
      "['TransactWriteItems', 'PutItem', 'UpdateItem']",
    ],
    ["input.IndexName ? `/index/${input.IndexName}` : ''", "''"],
    ['/\\bpk = (:\\w+)/', '/^pk = (:\\w+)/'],
  ]),
  ...plant('lib/runtime/log.ts', 'test/unit/log.test.ts', [
    ['/^ +at .+:\\d+:\\d+\\)?$/', '/^ +at .+/'],
    ["code: typeof code === 'string' ? code : undefined", 'code: code === undefined ? undefined : String(code)'],
  ]),
  ...plant('lib/integrity/counters.ts', 'test/unit/daily-verification.test.ts', [
    [
      'if (seen.totals[kind] === seen.counts[kind]) return NONE;',
      'if (seen.totals[kind] >= seen.counts[kind]) return NONE;',
    ],
  ]),
  ...plant('lib/integrity/survey.ts', 'test/unit/findings.test.ts', [
    [
      'if (Number.isSafeInteger(id)) seen.highestIds[kind] = Math.max(seen.highestIds[kind], id);',
      'seen.highestIds[kind] = Math.max(seen.highestIds[kind], id);',
    ],
    ['  if (kind) {\n    seen.counts[kind]++;', '  if (kind && !findDefect(item)) {\n    seen.counts[kind]++;'],
    ['seen.highestIds[kind] = Math.max(seen.highestIds[kind], id);', 'seen.highestIds[kind] = id;'],
    ['highest: Math.max(highest, number)', 'highest: number'],
  ]),
  ...plant('lib/integrity/finding.ts', 'test/unit/findings.test.ts', [['`${pk} / ${sk}`', '`${pk}/${sk}`']]),
  ...plant('lib/restore/adopt-table.ts', 'test/unit/rare-changes.test.ts', [
    [
      "while ((await commit(table, [remove({ pk, sk }, EXISTS)])) === 'busy')",
      "if ((await commit(table, [remove({ pk, sk }, EXISTS)])) === 'busy')",
    ],
    ["condition: '#n = :before'", "condition: 'attribute_exists(#n)'"],
    ['export const SKIPPED_IDS = 1_000_000;', 'export const SKIPPED_IDS = 100_000;'],
    [
      "'attribute_exists(pk)', onConditionFailed: 'retry' } as const;",
      "'attribute_exists(pk)', onConditionFailed: 'not-found' } as const;",
    ],
  ]),
  ...plant('functions/list-authorities.ts', 'test/api/users.test.ts', [['ok(ROLES)', 'ok(ROLES.slice(0, 2))']]),
  ...plant('functions/authenticate.ts', 'test/api/authentication.test.ts', [
    ['body.rememberMe', 'body.rememberMe !== undefined'],
  ]),
  ...plant('functions/request-reset.ts', 'test/api/reset.test.ts', [['  await requestReset(', '  void requestReset(']]),
  ...plant('functions/update-integration.ts', 'test/api/conditional.test.ts', [
    ['caller, body, precondition)', 'caller, body, undefined)'],
  ]),
  ...plant('functions/delete-user.ts', 'test/api/conditional.test.ts', [
    ['path.login, precondition)', 'path.login, undefined)'],
  ]),
  ...plant('functions/get-user.ts', 'test/api/users.test.ts', [
    ['findUserByLogin(table, path.login)', 'findUserByLogin(table, path.login.toLowerCase())'],
  ]),
  ...plant('functions/create-integration.ts', 'test/api/success-headers.test.ts', [
    ['`/api/utm-integrations/${integration.id}`', '`/api/utm-integration/${integration.id}`'],
  ]),
  ...plant('functions/count-parameters.ts', 'test/api/filters.test.ts', [
    ['countParameters(table, caller, query)', 'countParameters(table, caller, { ...query, filters: [] })'],
  ]),
  ...plant('functions/list-integrations.ts', 'test/api/read-budget.test.ts', [
    [
      "'INTEGRATION', query, integrationOf, readBudget(table, caller)",
      "'INTEGRATION', query, integrationOf, readBudget(table, { ...caller, id: 0 })",
    ],
  ]),
  ...plant('lib/status/health.ts', 'test/unit/views.test.ts', [
    ['await table.get(rosterKey);', 'table.get(rosterKey).catch(() => undefined);'],
  ]),
  ...plant('lib/runtime/settle-all.ts', 'test/concurrency/late-work.test.ts', [
    ['for (const outcome of outcomes) if', 'for (const outcome of outcomes.toReversed()) if'],
  ]),
  ...plant('lib/runtime/aws.ts', 'test/unit/aws.test.ts', [
    ["'ETIMEDOUT'].includes", "'TIMEDOUT'].includes"],
    ['keepAlive: true, maxSockets: 50 }),\n  httpsAgent', 'maxSockets: 50 }),\n  httpsAgent'],
    ['Math.min(maxMs, remainingMs() - CALL_RESERVE_MS)', 'Math.min(maxMs, remainingMs()) - CALL_RESERVE_MS'],
  ]),
  ...plant('lib/runtime/kms.ts', 'test/unit/aws.test.ts', [['shared ??= new', 'shared = new']]),
  ...plant('lib/contract/fields.ts', 'test/unit/schemas.test.ts', [
    ['/^\\P{Cc}*$/u', '/^\\P{Cc}+$/u'],
    ["value.trim() !== ''", "value !== ''"],
    ['v.transform((value) => value || null)', 'v.transform((value) => value ?? null)'],
  ]),
  ...plant('lib/tokens/thumbprint.ts', 'test/unit/tokens.test.ts', [
    ["crv: 'P-256', kty: 'EC', x, y", "kty: 'EC', crv: 'P-256', x, y"],
  ]),
  ...plant('lib/authorization/precedence.ts', 'test/unit/rare-changes.test.ts', [
    ['Math.ceil(until / 1000) + TTL_MARGIN_SECONDS', 'Math.ceil(until / 1000)'],
  ]),
  ...plant('lib/audit/audit-contracts.ts', 'test/unit/contracts.test.ts', [
    ["{ sortable: ['time'] }", "{ sortable: ['time', 'actor'] }"],
  ]),
  ...plant('infra/bundle.ts', 'test/stack/bundles.test.ts', [
    ["mainFields: ['module', 'main']", "mainFields: ['main', 'module']"],
  ]),
];
