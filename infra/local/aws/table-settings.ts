import type { AwsResponse } from '../calls/aws-call.ts';

interface Tag {
  readonly Key: string;
  readonly Value: string;
}

/** The table that the stack has created, with the tags of its template. */
interface StackTable {
  readonly TableName: string;
  readonly Tags?: readonly Tag[];
}

/**
 * The settings of tables that an engine lacks: tags and point-in-time recovery. They are kept in memory. Returns the
 * response to a call about them, and undefined for any other call.
 */
export function tableSettings(stackTable: () => StackTable) {
  const tags = new Map<string, Tag[]>();
  const recoverable = new Set<string>();
  const nameIn = (arn: unknown) => String(arn).split('/').at(-1) as string;
  const tagsOf = (name: string) => {
    const { TableName, Tags = [] } = stackTable();
    return [...(name === TableName ? Tags : []), ...(tags.get(name) ?? [])];
  };

  return (operation: string, input: Record<string, unknown>): AwsResponse | undefined => {
    const { ResourceArn, TableName, Tags } = input;
    switch (operation) {
      case 'ListTagsOfResource':
        return { status: 200, body: { Tags: tagsOf(nameIn(ResourceArn)) } };
      case 'TagResource': {
        const byName = new Map(
          [...(tags.get(nameIn(ResourceArn)) ?? []), ...(Tags as Tag[])].map((tag) => [tag.Key, tag]),
        );
        tags.set(nameIn(ResourceArn), [...byName.values()]);
        return { status: 200, body: {} };
      }
      case 'UpdateContinuousBackups':
        recoverable.add(String(TableName));
        return { status: 200, body: continuousBackups(true) };
      case 'DescribeContinuousBackups':
        return { status: 200, body: continuousBackups(recoverable.has(String(TableName))) };
      default:
        return undefined;
    }
  };
}

const continuousBackups = (isRecoverable: boolean) => ({
  ContinuousBackupsDescription: {
    ContinuousBackupsStatus: 'ENABLED',
    PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: isRecoverable ? 'ENABLED' : 'DISABLED' },
  },
});
