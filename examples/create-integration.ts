import type { Client } from './client/client/types.gen.ts';
import { createIntegration, createParameter } from './client/sdk.gen.ts';
import type { Integration, IntegrationCreation, Parameter } from './client/types.gen.ts';
import { readArguments, withClient } from './session.ts';

/* Creates an integration with a parameter: `npx node examples/create-integration.ts`. */

/** Creates an integration, then its parameters from their names and values. */
export async function createWithParameters(
  client: Client,
  integration: IntegrationCreation,
  values: Readonly<Record<string, string>>,
): Promise<{ integration: Integration; parameters: Parameter[] }> {
  const { data: created } = await createIntegration({
    client,
    body: integration,
    throwOnError: true,
  });
  const parameters: Parameter[] = [];
  for (const [confName, confValue] of Object.entries(values)) {
    const body = { integration: { id: created.id }, confName, confValue };
    parameters.push((await createParameter({ client, body, throwOnError: true })).data);
  }
  return { integration: created, parameters };
}

if (import.meta.main) {
  readArguments('npx node examples/create-integration.ts');
  await withClient(async (client) => {
    const { integration, parameters } = await createWithParameters(
      client,
      { name: 'Firewalls', shortName: 'firewalls', integrationType: 'COLLECTOR' },
      { hosts: 'fw1.example.com' },
    );
    console.log(`Integration ${integration.id} has the parameter ${parameters[0]?.id}`);
  });
}
