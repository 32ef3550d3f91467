import * as v from 'valibot';
import { DEPLOYMENTS } from './environment.ts';
import { setting } from './setting.ts';
import { TRANSPORTS } from './transport.ts';

const override = <S extends v.GenericSchema>(name: string, schema: S) =>
  v.optional(
    setting(`Overrides the setting \`${name}\` of the environment, for one deployment.`, schema),
  );

/** The keys of the context that `-c KEY=VALUE` sets. */
export const context = v.object({
  env: setting(
    'The environment to synthesize or to deploy: the name of a file in `environments/`.',
    v.string(),
  ),
  example: v.optional(
    setting(
      'Whether the file is one of [examples/environments](../examples/environments/prod.json), ' +
        'with its placeholders: `npm run check` synthesizes `prod`. Never use it to deploy.',
      v.boolean(),
    ),
    false,
  ),
  unprotected: override('unprotected', v.boolean()),
  deployment: override('deployment', DEPLOYMENTS),
  transport: override('transport', v.picklist(TRANSPORTS)),
  checked: v.optional(
    setting(
      'Whether the template is checked against the AWS Solutions rules; `npm start` sets ' +
        'it to `false`.',
      v.boolean(),
    ),
    true,
  ),
});
