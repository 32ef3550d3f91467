import { describe, it } from 'vitest';
import { ENGINE_RULES } from '../support/instance/engine-rules.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

describe('the DynamoDB engine', async () => {
  const gatehouse = await useGatehouse();

  it.each(Object.entries(ENGINE_RULES))('%s', (_, verify) => verify(gatehouse.table));
});
