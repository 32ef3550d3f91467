import type { Call } from '../../infra/local/front.ts';
import { type Rights, rightsOf, routes } from '../../routes.ts';

type Input = Record<string, unknown>;
type TableRights = Omit<Rights, 'keys' | 'mail'>;
type Use = [right: keyof TableRights, partitionKey: string];

const KEY_USES: Record<string, NonNullable<Rights['keys']>[number]> = {
  Sign: 'sign',
  GetPublicKey: 'sign',
  GenerateMac: 'pepper',
  GenerateDataKey: 'seal',
  Decrypt: 'unseal',
};

/** What a function's call does that its row does not allow; undefined when all is allowed. The template gives what the row says. */
export function beyondItsRow({ service, operation, input, by }: Call): string | undefined {
  const route = routes.find(({ on }) => on === by);
  if (!route) return undefined;
  const may = rightsOf(route);
  if (service === 'SES') return may.mail ? undefined : `${by} sends mail`;
  if (service === 'KMS') {
    const use = KEY_USES[operation];
    return use && may.keys?.includes(use) ? undefined : `${by} calls KMS ${operation}`;
  }
  const rights: TableRights = may;
  const refused = usesOf(operation, input).filter(
    ([right, partitionKey]) => !rights[right]?.some((allowed) => matches(allowed, partitionKey)),
  );
  return refused.length > 0 ? `${by} calls ${operation} for ${JSON.stringify(refused)}` : undefined;
}

const matches = (allowed: string, partitionKey: string): boolean =>
  allowed.endsWith('*') ? partitionKey.startsWith(allowed.slice(0, -1)) : partitionKey === allowed;

/** DynamoDB asks for the right to each action of a transaction, and to each key of a batch. */
function usesOf(operation: string, input: Input): Use[] {
  const partitionKey = (item: unknown): string => (item as { pk?: { S?: string } } | undefined)?.pk?.S ?? '';
  const keyOf = ({ Key, Item }: Input): string => partitionKey(Key ?? Item);
  switch (operation) {
    case 'GetItem':
      return [['get', keyOf(input)]];
    case 'UpdateItem':
      return [['update', keyOf(input)]];
    case 'Query':
      return [['query', (input.ExpressionAttributeValues as Record<string, { S: string }>)[':pk']?.S ?? '']];
    case 'BatchGetItem':
      return Object.values(input.RequestItems as Record<string, { Keys: unknown[] }>).flatMap(({ Keys }) =>
        Keys.map((key): Use => ['batchGet', partitionKey(key)]),
      );
    case 'TransactWriteItems': {
      const rights = { Put: 'put', Update: 'update', Delete: 'remove', ConditionCheck: 'check' } as const;
      return (input.TransactItems as Record<keyof typeof rights, Input>[]).map((action): Use => {
        const [[act, parts]] = Object.entries(action) as [[keyof typeof rights, Input]];
        return [rights[act], keyOf(parts)];
      });
    }
    default:
      throw new Error(`No function calls ${operation}`);
  }
}
