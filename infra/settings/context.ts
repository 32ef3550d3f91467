import * as v from 'valibot';
import { DEPLOYMENTS } from './environment.ts';
import { templates } from './mail.ts';
import { settings } from './settings.ts';
import { TRANSPORTS } from './transport.ts';

/** The keys of the context in cdk.json. */
export const context = v.object({
  env: v.pipe(
    v.string(),
    v.description('The environment to synthesize or to deploy: a key of `environments`.'),
  ),
  transport: v.pipe(
    v.picklist(TRANSPORTS),
    v.description(
      'What functions call AWS with, in all environments: the transport of this project, or ' +
        'the AWS SDK ([ADR 11](adr/0011-minimal-transport.md)).',
    ),
  ),
  environments: v.pipe(
    v.record(v.string(), settings),
    v.description(
      'The settings of each environment by its name, which consists of letters, digits and ' +
        'hyphens.',
    ),
  ),
  mailTemplates: v.pipe(
    templates,
    v.description('The texts of all mails, for environments without `mail.templates`.'),
  ),
  allowPlaceholders: v.optional(
    v.pipe(
      v.picklist(['true', 'false']),
      v.description(
        'Whether placeholders are allowed with `keepData`: `npm run check` synthesizes ' +
          '`prod` with them. Never use it to deploy.',
      ),
    ),
    'false',
  ),
  unprotected: v.optional(
    v.pipe(
      v.boolean(),
      v.description('Overrides the setting `unprotected` of the environment, for one deployment.'),
    ),
  ),
  deployment: v.optional(
    v.pipe(
      DEPLOYMENTS,
      v.description('Overrides the setting `deployment` of the environment, for one deployment.'),
    ),
  ),
  checked: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        'Whether the template is checked against the AWS Solutions rules; `npm start` sets ' +
          'it to `false`.',
      ),
    ),
    true,
  ),
});
