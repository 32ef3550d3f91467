import type { Settings } from '../../../infra/settings/settings.ts';

/**
 * Every setting, with values that no environment has. The numbers are distinct, so that they reveal
 * constants in the source that only happen to equal a setting of an example. `keepData` is false,
 * to reveal code that decides by the environment's name instead.
 */
export const OTHER_SETTINGS = {
  account: '123456789012',
  region: 'eu-north-1',
  keepData: false,
  unprotected: true,
  existing: {},
  backup: { region: 'eu-west-1', days: 47, lockedDays: 21 },
  logRetentionDays: 90,
  auditDays: 411,
  auditLogDays: 150,
  tableMaximum: { readUnits: 7001, writeUnits: 3001 },
  requestsPerSecond: 11,
  loginConcurrency: 17,
  unreservedConcurrency: 173,
  failuresPerSource: 19,
  tokenLife: { minutes: 7, rememberedMinutes: 29 },
  corsOrigins: ['https://one.example', 'https://two.example'],
  domain: {
    name: 'gate.one.example',
    certificate:
      'arn:aws:acm:eu-north-1:123456789012:certificate/0f2b7c1e-5a64-4d3b-9c8e-7b1a2d3c4e5f',
  },
  edge: {
    hostName: 'api.one.example',
    certificate:
      'arn:aws:acm:us-east-1:123456789012:certificate/9c8e7b1a-2d3c-4e5f-0f2b-7c1e5a644d3b',
    secret: 'gate/edge-2',
    secretHashes: ['b1'.repeat(32), 'a0'.repeat(32)],
    requestsPerSource: 1009,
    loginsPerSource: 31,
  },
  signingKeys: ['SigningKeyB', 'SigningKeyA'],
  moduleKeys: ['ModuleKeyB', 'ModuleKeyA'],
  pepperKeys: ['PepperKeyB', 'PepperKeyA'],
  passwords: { minimum: 15, rejectCommon: true },
  console: true,
  mail: {
    sender: 'gate@mail.example.org',
    configurationSet: 'events',
    resetsPerHour: 37,
    linkBase: 'https://one.example/set-password?key=',
    confirmLinkBase: 'https://one.example/confirm-email?key=',
    language: 'nl',
  },
  tokens: { daysMaximum: 83, perUser: 7 },
  issuers: [
    {
      issuer: 'https://login.example.org/company',
      name: 'Company account',
      clientId: 'gate',
      authorizationEndpoint: 'https://login.example.org/company/authorize',
      tokenEndpoint: 'https://login.example.org/company/token',
      keys: 'https://login.example.org/company/keys',
      algorithms: ['ES256'],
      loginClaim: 'upn',
      groupsClaim: 'member_of',
      roles: { ROLE_ADMIN: ['gate-admins'], ROLE_USER: ['gate-users'] },
      creates: 'mapped',
      secondFactor: 'always',
      requiredAcr: ['gold'],
    },
  ],
  moduleIssuers: [
    {
      issuer: 'https://cluster.example.org/id/7',
      audience: 'https://gate.one.example',
      keys: 'https://cluster.example.org/id/7/keys',
      algorithms: ['ES384'],
      ageMinutesMaximum: 13,
    },
  ],
  deletionEndsSessions: true,
  secondFactor: { requiredFor: ['ROLE_ADMIN', 'ROLE_ANALYST'], from: '2031-02-03' },
  ssoOnly: { emergencyAccount: 'break-glass' },
  confirmEmailChanges: true,
  dailyVerification: true,
  deployment: 'canary',
  transport: 'sdk',
  alarms: 'arn:aws:sns:eu-north-1:123456789012:operators',
  runbookUrl: 'https://one.example/runbook',
  monthlyBudget: 151,
} satisfies Required<Settings>;
