import * as v from 'valibot';
import { DEPLOYMENTS } from './environment.ts';
import { templates } from './mail.ts';
import { setting } from './setting.ts';
import { settings } from './settings.ts';
import { TRANSPORTS } from './transport.ts';

const override = <S extends v.GenericSchema>(name: string, schema: S) =>
  v.optional(
    setting(`Overrides the setting \`${name}\` of the environment, for one deployment.`, schema),
  );

/** The keys of the context in cdk.json. */
export const context = v.object({
  env: setting('The environment to synthesize or to deploy: a key of `environments`.', v.string()),
  transport: setting(
    'What functions call AWS with, in all environments: the transport of this project, or ' +
      'the AWS SDK ([ADR 11](adr/0011-minimal-transport.md)).',
    v.picklist(TRANSPORTS),
  ),
  environments: setting(
    'The settings of each environment by its name, which consists of letters, digits and hyphens.',
    v.record(v.string(), settings),
  ),
  mailTemplates: setting(
    'The texts of all mails, for environments without `mail.templates`.',
    templates,
  ),
  allowPlaceholders: v.optional(
    setting(
      'Whether placeholders are allowed with `keepData`: `npm run check` synthesizes ' +
        '`prod` with them. Never use it to deploy.',
      v.boolean(),
    ),
    false,
  ),
  unprotected: override('unprotected', v.boolean()),
  deployment: override('deployment', DEPLOYMENTS),
  checked: v.optional(
    setting(
      'Whether the template is checked against the AWS Solutions rules; `npm start` sets ' +
        'it to `false`.',
      v.boolean(),
    ),
    true,
  ),
});
