import type { Settings } from '../../infra/settings.ts';

/**
 * Settings that no environment has, every number another one: a constant of the source that only happens to equal a
 * setting of `cdk.json` shows. They do not keep data, so that an environment whose name decides instead shows too.
 */
export const OTHER_SETTINGS: Partial<Settings> = {
  region: 'eu-north-1',
  keepData: false,
  logRetentionDays: 90,
  auditDays: 411,
  tableMaximum: { readUnits: 7001, writeUnits: 3001 },
  throttle: { all: { rate: 11, burst: 12 }, login: { rate: 13, burst: 14 } },
  loginConcurrency: 17,
  guessing: { failuresPerSource: 19, requestsPerSource: 23 },
  tokenLife: { minutes: 7, rememberedMinutes: 29 },
  corsOrigins: ['https://one.example', 'https://two.example'],
  signingKeys: ['SigningKeyB', 'SigningKeyA'],
  mail: {
    sender: 'gate@mail.example.org',
    configurationSet: 'events',
    linkBase: 'https://one.example/set-password?key=',
    templates: {
      en: {
        reset: { subject: 'Reset', text: '{link}' },
        invitation: { subject: 'Welcome', text: '{link}' },
        passwordChanged: { subject: 'Changed', text: 'Password' },
        emailChanged: { subject: 'Changed', text: 'Address' },
      },
    },
  },
  dailyVerification: { alarmTopic: 'arn:aws:sns:eu-north-1:123456789012:operators' },
};
