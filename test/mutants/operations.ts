// biome-ignore-all lint/suspicious/noTemplateCurlyInString: template literals of the source stand in strings
import type { Mutant } from './mutant.ts';

/* Deployment and operation: the stack, its settings and permissions, the log, verification, repair, and the commands. */

const FACTS = ['test/stack/facts.test.ts'];
const SETTINGS = ['test/unit/settings.test.ts'];
const LOG = ['test/unit/log.test.ts'];
const ITEM_KINDS = ['test/unit/item-kinds.test.ts'];
const FINDINGS = ['test/unit/findings.test.ts'];
const MOVING = ['test/unit/verification-during-changes.test.ts'];
const COMMANDS = ['test/local/commands.test.ts'];
const DAILY = ['test/unit/daily-verification.test.ts'];
const POLICY = ['test/local/policy.test.ts'];
const AUTHORIZATION = ['test/unit/authorization.test.ts'];
const TEMPLATE = ['test/local/template.test.ts'];

const inFile =
  (file: string, killedBy: readonly string[]) =>
  (from: string, to: string): Mutant => ({ file, from, to, killedBy });

const keys = inFile('infra/constructs/keys.ts', FACTS);
const table = inFile('infra/constructs/administration-table.ts', FACTS);
const httpApi = inFile('infra/constructs/http-api.ts', FACTS);
const gatehouseFunction = inFile('infra/constructs/gatehouse-function.ts', FACTS);
const endpointFunction = inFile('infra/constructs/endpoint-function.ts', FACTS);
const daily = inFile('infra/constructs/daily-verification.ts', FACTS);
const mail = inFile('infra/constructs/mail.ts', FACTS);
const stack = inFile('infra/gatehouse-stack.ts', FACTS);
const routes = inFile('routes.ts', FACTS);
const cdk = inFile('cdk.json', SETTINGS);
const settings = inFile('infra/settings.ts', SETTINGS);
const log = inFile('lib/runtime/log.ts', LOG);
const logRequest = inFile('lib/http/log-request.ts', LOG);
const itemKinds = inFile('lib/integrity/item-kinds.ts', ITEM_KINDS);
const guards = inFile('lib/integrity/guards.ts', FINDINGS);
const roster = inFile('lib/integrity/roster.ts', FINDINGS);
const numbers = inFile('lib/integrity/counters.ts', FINDINGS);
const moving = inFile('lib/integrity/counters.ts', MOVING);
const survey = inFile('lib/integrity/survey.ts', FINDINGS);
const verification = inFile('lib/integrity/verify-table.ts', FINDINGS);
const repair = inFile('lib/integrity/repair-table.ts', MOVING);
const verify = inFile('infra/verify.ts', COMMANDS);
const adopt = inFile('infra/adopt.ts', COMMANDS);
const firstAdmin = inFile('infra/first-admin.ts', COMMANDS);
const policy = inFile('infra/local/iam/policy.ts', POLICY);
const authorization = inFile('infra/local/iam/authorization.ts', AUTHORIZATION);
const actions = inFile('infra/local/calls/actions.ts', AUTHORIZATION);
const template = inFile('infra/local/stack/template.ts', TEMPLATE);

export const operations: readonly Mutant[] = [
  keys('removalPolicy: keepData ? RemovalPolicy.RETAIN', 'removalPolicy: !keepData ? RemovalPolicy.RETAIN'),
  keys('RemovalPolicy.RETAIN : RemovalPolicy.DESTROY', 'RemovalPolicy.DESTROY : RemovalPolicy.DESTROY'),
  keys('enableKeyRotation: rotate', 'enableKeyRotation: false'),
  keys(
    "'encrypts the table', SYMMETRIC_DEFAULT, ENCRYPT_DECRYPT, true",
    "'encrypts the table', SYMMETRIC_DEFAULT, ENCRYPT_DECRYPT, false",
  ),
  keys("actions: ['kms:Sign', 'kms:GetPublicKey']", "actions: ['kms:Sign']"),
  keys("StringEquals: { 'kms:EncryptionContext:service': 'gatehouse' },", ''),
  keys("Null: { 'kms:EncryptionContext:integration': 'false' },", ''),
  keys("arns.join(',')", "arns.join(' ')"),

  table("timeToLiveAttribute: 'expires',", ''),
  table("timeToLiveAttribute: 'expires'", "timeToLiveAttribute: 'expiry'"),
  table('deletionProtection: keepData', 'deletionProtection: false'),
  table('pointInTimeRecoveryEnabled: keepData', 'pointInTimeRecoveryEnabled: false'),
  table('RemovalPolicy.RETAIN : RemovalPolicy.DESTROY', 'RemovalPolicy.DESTROY : RemovalPolicy.DESTROY'),
  table('maxReadRequestUnits: tableMaximum.readUnits', 'maxReadRequestUnits: tableMaximum.writeUnits'),
  table('maxWriteRequestUnits: tableMaximum.writeUnits,', ''),
  table("Null: { 'dynamodb:LeadingKeys': 'false' },", ''),
  table("['put', 'update', 'delete']", "['put', 'update']"),
  table(
    "actions: ['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem']",
    "actions: ['dynamodb:Scan', 'dynamodb:Query']",
  ),
  table("conditions: { StringEquals: { 'kms:ViaService': `dynamodb.${Stack.of(this).region}.amazonaws.com` } },", ''),

  httpApi("'ETag',\n", ''),
  httpApi("'X-Total-Count',\n", ''),
  httpApi(
    "allowHeaders: ['Authorization', 'Content-Type', 'If-Match']",
    "allowHeaders: ['Authorization', 'Content-Type']",
  ),
  httpApi('exposeHeaders: EXPOSED_HEADERS,', ''),
  httpApi(', CorsHttpMethod.DELETE]', ']'),
  httpApi('corsOrigins.length > 0', 'corsOrigins.length > 5'),
  httpApi('retention: logRetentionDays,', ''),
  httpApi('RemovalPolicy.RETAIN : RemovalPolicy.DESTROY', 'RemovalPolicy.DESTROY : RemovalPolicy.DESTROY'),
  httpApi('burstLimit: throttle.all.burst', 'burstLimit: throttle.all.rate'),
  httpApi('this.strictLimits = throttle.login', 'this.strictLimits = throttle.all'),
  httpApi('ThrottlingBurstLimit: burst', 'ThrottlingBurstLimit: rate'),
  httpApi('sourceIp: AccessLogField.contextIdentitySourceIp(),', ''),
  httpApi("integrationError: '$context.integrationErrorMessage',", ''),
  httpApi("'$context.responseLatency'", "'$context.integrationLatency'"),
  httpApi('this.stage.node.addDependency(httpRoute);', ''),

  gatehouseFunction('retention: settings.logRetentionDays,', 'retention: 365,'),
  gatehouseFunction('settings.keepData ? RemovalPolicy.RETAIN', 'settings.keepData ? RemovalPolicy.DESTROY'),
  gatehouseFunction('logGroup.grantWrite(role);', ''),
  gatehouseFunction('Architecture.ARM_64', 'Architecture.X86_64'),
  endpointFunction('default: 512', 'default: 1024'),
  endpointFunction('Duration.seconds(10)', 'Duration.seconds(30)'),
  endpointFunction('settings.tokenLife.minutes * 60', 'settings.tokenLife.minutes'),
  endpointFunction('settings.tokenLife.rememberedMinutes * 60', '86400'),
  endpointFunction('AUDIT_DAYS: String(settings.auditDays)', 'AUDIT_DAYS: String(settings.logRetentionDays)'),
  endpointFunction('String(settings.guessing.requestsPerSource)', "'1000'"),
  endpointFunction('route.strictThrottle &&\n', ''),

  daily('Duration.minutes(15)', 'Duration.minutes(10)'),
  daily('memorySize: 2048,', 'memorySize: 512,'),
  daily('retryAttempts: 0,', ''),
  daily("statistic: 'Sum'", "statistic: 'Average'"),
  daily('metricErrors({ period: Duration.days(1)', 'metricErrors({ period: Duration.minutes(5)'),
  daily('TreatMissingData.NOT_BREACHING', 'TreatMissingData.MISSING'),
  daily('GREATER_THAN_OR_EQUAL_TO_THRESHOLD', 'GREATER_THAN_THRESHOLD'),
  daily('if (daily.alarmTopic) alarm', 'if (!daily.alarmTopic) alarm'),
  mail("arn('identity', sender.slice(sender.indexOf('@') + 1)),", ''),
  mail("conditions: { StringEquals: { 'ses:FromAddress': sender } },", ''),
  mail("fn.addEnvironment('MAIL_LINK_BASE', linkBase)", "fn.addEnvironment('MAIL_LINK_BASE', sender)"),
  mail("if (configurationSet) fn.addEnvironment('MAIL_CONFIGURATION_SET', configurationSet);", ''),
  stack('terminationProtection: settings.keepData,', ''),
  stack('terminationProtection: settings.keepData', 'terminationProtection: true'),
  stack(
    "Tags.of(table).add('gatehouse:pepper-key', keys.pepper.keyArn)",
    "Tags.of(table).add('gatehouse:pepper-key', keys.table.keyArn)",
  ),
  stack("Tags.of(this).add('gatehouse:environment', environment);", ''),
  stack("new CfnOutput(this, 'TableName', { value: table.name });", ''),

  routes(
    "put: [RESET, MAILS], updateOutsideTransaction: [ATTEMPTS], keys: ['pepper'], mail }, strictThrottle }",
    "put: [RESET, MAILS], updateOutsideTransaction: [ATTEMPTS], keys: ['pepper'], mail } }",
  ),
  routes('put: [INTEGRATION, AUDIT], update: [TOTAL]', 'put: [INTEGRATION, AUDIT, USER], update: [TOTAL]'),
  routes('query: [...(permissions.query ?? []), JWKS]', 'query: [...(permissions.query ?? [])]'),
  routes('get: [...(permissions.get ?? []), PRECEDENCE]', 'get: [...(permissions.get ?? [])]'),
  routes("route.startsWith('GET ') ? withKeySet", "!route.startsWith('PUT ') ? withKeySet"),
  cdk('"logRetentionDays": 365', '"logRetentionDays": 30'),
  cdk('"auditDays": 730', '"auditDays": 365'),
  cdk('"loginConcurrency": 100,', ''),

  settings('failuresPerSource <= requestsPerSource', 'failuresPerSource < requestsPerSource'),
  settings('minutes <= rememberedMinutes,', 'minutes >= 0,'),
  settings(
    'const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(1))',
    'const positiveInteger = v.pipe(v.number(), v.integer(), v.minValue(0))',
  ),
  settings('v.integer(), ', ''),
  settings('rate: v.pipe(v.number(), v.minValue(1))', 'rate: v.pipe(v.number(), v.minValue(0))'),
  settings("v.excludes('{link}')", 'v.nonEmpty()'),
  settings("text: v.pipe(v.string(), v.includes('{link}'))", 'text: v.string()'),
  settings('region: v.string()', 'region: v.optional(v.string())'),
  settings('keepData: v.boolean()', 'keepData: v.optional(v.boolean(), false)'),
  settings('const settings = v.strictObject({', 'const settings = v.object({'),
  settings('v.minLength(1),', ''),
  settings('new Set(keys).size === keys.length', 'keys.length > 0'),
  settings('{1,64}', '{1,65}'),
  settings('URL.parse(origin)?.origin === origin', 'URL.canParse(origin)'),
  settings('Object.hasOwn(environments, name)', 'name in environments'),
  settings('...own.mail };', '};'),
  settings("Object.hasOwn(languages, 'en')", "'en' in languages || true"),
  settings(':\\d{12}:', ':\\d+:'),
  settings('linkBase: v.pipe(v.string(), v.url())', 'linkBase: v.string()'),

  log('code: typeof code', 'reason: typeof code'),
  log('awsRequestId: $metadata?.requestId,', ''),
  log('awsStatus: $metadata?.httpStatusCode,', ''),
  log('at: stackFrames(stack),', ''),
  log('...context,', ''),
  log('[what]: name', '[what]: code as string'),
  log(':\\d+:\\d+\\)?$', ''),
  logRequest('callerId: caller?.id, ', ''),
  logRequest(', failure });', ' });'),
  logRequest('milliseconds, callerId', 'callerId'),
  logRequest("logError('defect', error, { requestId: event.requestContext.requestId })", "logError('defect', error)"),

  itemKinds('const id = v.pipe(whole, v.minValue(1))', 'const id = v.pipe(whole, v.minValue(0))'),
  itemKinds('version, passwordChanges: count,', 'version,'),
  itemKinds(
    'attributes: v.object({ n: count, last: count, expires: count })',
    'attributes: v.object({ n: count, last: count })',
  ),
  itemKinds('id > 0 && key.sk === idText(id)', 'key.sk === idText(id)'),
  itemKinds('&& key.sk === idText(id)', ''),
  itemKinds('key.pk.length > prefix.length && ', ''),
  itemKinds("counterOf('SEQUENCE', ['USER', 'INTEGRATION'])", "counterOf('SEQUENCE', ['USER', 'INTEGRATION', 'CONF'])"),
  itemKinds("counterOf('TOTAL', ['USER', 'INTEGRATION', 'CONF'])", "counterOf('TOTAL', ['USER', 'INTEGRATION'])"),
  itemKinds('item.sk !== kid || jwk.kid !== kid', 'item.sk !== kid'),
  itemKinds('jwk: v.object({ kid: text, kty: text, crv: text,', 'jwk: v.object({ kid: text, crv: text,'),
  itemKinds('collectionKind && item.id !== Number(item.sk)', 'false'),
  itemKinds('/^MAILS#\\d{16}$/', '/^MAILS#\\d+$/'),
  itemKinds('userId: id, expires: count', 'userId: count, expires: count'),

  guards(
    'writes: [set(key, { id: holder.id }, stillNamed), userIs(holder), unchangedSinceRead(id, named)]',
    'writes: [set(key, { id: holder.id }, stillNamed), userIs(holder)]',
  ),
  guards('writes: [remove(key, stillNamed), unchangedSinceRead(id, named)]', 'writes: [remove(key, stillNamed)]'),
  guards("condition: '#id = :seen'", "condition: 'attribute_exists(#id)'"),
  guards(
    "writes: [claim(key, { id: holder.id }, 'retry'), userIs(holder)]",
    "writes: [claim(key, { id: holder.id }, 'retry')]",
  ),
  guards(
    'if ((guard && findDefect(guard)) || (named && findDefect(named))) return [];',
    'if (guard && findDefect(guard)) return [];',
  ),
  guards('item !== undefined && !findDefect(item)', 'item !== undefined'),
  guards('holder && others.length > 0', 'holder && others.length > 1'),
  guards('const MAX_HOLDERS = 50', 'const MAX_HOLDERS = 99'),
  guards('!guard || findDefect(guard) || ids.has(guard.id as number)', 'true'),
  guards('attribute_not_exists(pk)', 'attribute_exists(pk)'),
  guards('if (!matched.has(pk)) candidate', 'if (matched.has(pk)) candidate'),

  roster('[...unlisted, ...excess]', '[...excess, ...unlisted]'),
  roster('writes: [joinRoster(id), check(key, versionIs(user))]', 'writes: [joinRoster(id)]'),
  roster('writes: [leave(id, noneLeft), unchangedSinceRead(id, item)]', 'writes: [leave(id, noneLeft)]'),
  roster('if (!noneLeft) return', 'if (noneLeft) return'),
  roster(
    "condition: 'contains(#ids, :id)', onConditionFailed: 'retry'",
    "condition: 'contains(#ids, :id)', onConditionFailed: 'last-administrator'",
  ),
  roster('if (roster && findDefect(roster)) return false;', ''),
  roster('(roster && findDefect(roster)) || (item && findDefect(item))', 'roster && findDefect(roster)'),
  roster('administrators.length === 0 && (await hasNoAdministrator(table))', 'administrators.length === 0'),

  numbers(
    'writes: [withCondition(changeTotal(kind, difference), totalIs(total))]',
    'writes: [changeTotal(kind, difference)]',
  ),
  numbers(" AND ${equals('changes', changes)}", ''),
  numbers(
    "condition: 'attribute_not_exists(#n) OR #n < :highest'",
    "condition: 'attribute_not_exists(#n) OR #n <> :highest'",
  ),
  numbers('Math.max(parametersEver, highest)', 'highest'),
  numbers('revision: revision + 1', 'revision'),
  numbers('parametersEver >= highest && parameterBytes === bytes', 'parameterBytes === bytes'),
  numbers('integration.parametersEver >= highest', 'integration.parametersEver > highest'),
  numbers(
    'writes: [set(key, counters, revisionIs(integration))]',
    "writes: [set(key, counters, { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' })]",
  ),
  numbers('if (after && findDefect(after)) return NONE;\n    const total', 'const total'),
  numbers('(item && findDefect(item)) || ', ''),
  numbers('else if ((total.n ?? 0) === count)', 'else if ((total.n ?? 1) === count)'),
  guards('    ids.add(guard.id as number);\n', ''),
  moving('const MAX_TRIES = 20', 'const MAX_TRIES = 10'),
  moving('const CONFIRMATIONS = 2', 'const CONFIRMATIONS = 1'),
  moving('const MAX_WAIT_MS = 100', 'const MAX_WAIT_MS = 1000'),
  moving('one.n === other.n && one.changes === other.changes', 'one.n === other.n'),
  moving('isSame(wrong.total, total) && wrong.count === count', 'isSame(wrong.total, total)'),
  moving('before?.revision === after?.revision', 'before !== undefined'),
  moving('if (verdict.undecided) undecided.push(verdict.undecided);', ''),
  repair('const MAX_TRIES = 10', 'const MAX_TRIES = 3'),
  repair('const MAX_WAIT_MS = 400', 'const MAX_WAIT_MS = 4000'),
  repair("=== 'busy' && tries < MAX_TRIES", "!== 'committed' && tries < MAX_TRIES"),
  repair('onRepair(remedy.description);', ''),
  survey("typeof item.pk !== 'string' || typeof item.sk !== 'string'", "typeof item.pk !== 'string'"),
  survey('Math.max(seen.highestIds[kind], id)', 'id'),
  survey('if (Number.isSafeInteger(id)) ', ''),
  survey('bytes: bytes + countedBytes(item)', 'bytes'),
  verification("    await verifySequence(table, seen, 'INTEGRATION'),\n", ''),
  verification("    await verifyTotal(table, seen, 'CONF'),\n", ''),
  verification('if (defect) findings.push(defect);', 'findings.push(defect as Finding);'),
  { file: 'functions/verify-table.ts', from: 'undecided: undecided.length, ', to: '', killedBy: DAILY },
  { file: 'functions/verify-table.ts', from: ', ...countByKind(findings)', to: '', killedBy: DAILY },
  {
    file: 'functions/verify-table.ts',
    from: 'if (findings.length > 0) throw',
    to: 'if (findings.length > 1e3) throw',
    killedBy: DAILY,
  },

  verify('const FINDINGS = 1', 'const FINDINGS = 0'),
  verify('undecided.length > 0 ? NOT_VERIFIED : INTACT', 'INTACT'),
  verify('if (repair && verification', 'if (verification'),
  verify("if (error.name === 'Error' && code === undefined) return error.message;", ''),
  verify('const PROGRESS_EVERY = 10_000', 'const PROGRESS_EVERY = 1_000'),
  verify("code === 'ECONNREFUSED' || code === 'ECONNRESET'", "code === 'ECONNREFUSED'"),
  verify("['SIGINT', 'SIGTERM']", "['SIGINT']"),
  verify("if (table === '') fail", "if (table === 'x') fail"),
  verify('if (error instanceof NotGatehouseTable)', 'if (false)'),
  verify('if (error instanceof Failure)', 'if (false)'),
  adopt('process.exit(2);\n}', 'process.exit(1);\n}'),
  adopt('/^[1-9]\\d{0,8}$/', '/^\\d{0,9}$/'),
  adopt('if (error instanceof NotGatehouseTable)', 'if (false)'),
  adopt('after + 1}; it was ${before + 1}', 'after}; it was ${before}'),
  adopt('    skip,\n  );', '  );'),
  firstAdmin('process.exit(1)', 'process.exit(0)'),
  firstAdmin("error.code === 'unavailable'", "error.code === 'unexpected'"),
  firstAdmin('randomBytes(15)', 'randomBytes(6)'),
  firstAdmin("tag.Key === 'gatehouse:pepper-key'", "tag.Key !== ''"),
  {
    file: 'lib/restore/adopt-table.ts',
    from: 'Math.max(0, seconds * 1000 - Date.now())',
    to: 'seconds * 1000 - Date.now()',
    killedBy: ['test/unit/adopt-table.test.ts'],
  },
  {
    file: 'infra/bundle.ts',
    from: "mainFields: ['module', 'main'],",
    to: '',
    killedBy: ['test/stack/bundles.test.ts'],
  },

  policy('if (denying.some((statement) => statement.matches(request))) return undefined;', ''),
  policy("matches: wildcards(action, '[^]', 'i')", "matches: wildcards(action, '[^]')"),
  policy("if (Version !== '2012-10-17') throw", "if (Version === '2008-10-17') throw"),
  policy('conditions.every((holds) => holds(request))', 'conditions.some((holds) => holds(request))'),
  policy(
    'return (values) => isNull(values) || values.every(isExpected);',
    'return (values) => values.every(isExpected);',
  ),
  policy(
    'return (values) => !isNull(values) && values.some(isExpected);',
    'return (values) => isNull(values) || values.some(isExpected);',
  ),
  policy("isNull(values) === (expected[0] === 'true')", "isNull(values) === (expected[0] === 'false')"),
  policy("values.every((value) => value === '')", 'values.length === 0'),
  policy('if (isMultivalued && !set) throw', 'if (false) throw'),
  policy(".replace(/\\[\\^:\\]\\*$/, '[^]*')", ''),
  policy("source(segment, '[^:]')", "source(segment, '[^]')"),
  policy('Object.hasOwn(OPERATORS, name)', 'name in OPERATORS'),
  policy('/[\\\\^$.|+()[\\]{}]/g', '/[.]/g'),
  policy(
    'StringEquals: (expected) => (value) => value === expected',
    'StringEquals: (precondition) => (value) => value.startsWith(precondition)',
  ),
  policy('if (/\\$\\{/.test(text)) throw', 'if (false) throw'),
  policy("operator !== 'Null' && key", 'key'),
  policy('allowedResource.matches(resource) &&', ''),
  authorization("!grant.action.startsWith('logs:')", 'true'),
  authorization('if (!isUnbounded(grant)) used.add(grant);', 'used.add(grant);'),
  authorization("operation.startsWith('Transact') &&", "operation === 'TransactWriteItems' &&"),
  authorization('if (stack.tableKey) requests.push', 'if (false) requests.push'),
  authorization('if (input.ConfigurationSetName) resources.push', 'if (false) resources.push'),
  authorization('documents.delete(role);', ''),
  authorization('ManagedPolicyArns || PermissionsBoundary', 'ManagedPolicyArns'),
  authorization('if (Users || Groups)', 'if (Users)'),
  authorization(", `identity/${sender.slice(sender.indexOf('@') + 1)}`", ''),
  authorization('!/^[A-Z]+(#\\*)?$/.test(leadingKey)', "leadingKey === '*'"),
  actions("ConditionCheck: 'dynamodb:ConditionCheckItem'", "ConditionCheck: 'dynamodb:GetItem'"),
  actions("actionOn('dynamodb:BatchGetItem'", "actionOn('dynamodb:GetItem'"),
  actions("'PutItem', 'UpdateItem', 'DeleteItem'].includes", "'PutItem', 'UpdateItem'].includes"),
  actions('/\\bpk = (:\\w+)/', '/(:\\w+)/'),
  actions('/index/${input.IndexName}', ''),
  template('if (!SUPPORTED_TYPES.has(Type))', 'if (false)'),
  template("?? 'us-east-1'", "?? 'eu-central-1'"),
  template("if (name === 'Ref') return ref(argument);", ''),
  template('if (found === undefined) throw new Error(`The local cloud does not support ${logicalId}.${name}`);', ''),
];
