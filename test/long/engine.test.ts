import { describe, it } from 'vitest';
import { ENGINE_RULES } from '../support/engine-rules.ts';
import { useGatehouse } from '../support/gatehouse.ts';

describe('the DynamoDB engine', async () => {
  const gatehouse = await useGatehouse();

  it.each(Object.entries(ENGINE_RULES))('%s', (_, verify) => verify(gatehouse.table));
});
