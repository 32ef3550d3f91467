import type { AwsResponse } from '../calls/aws-call.ts';

interface Tag {
  readonly Key: string;
  readonly Value: string;
}

interface StackTable {
  readonly TableName: string;
  readonly Tags?: readonly Tag[];
}

/**
 * The settings of tables that an engine lacks: tags, point-in-time recovery and streams, which slow
 * the embedded engine down. They are kept in memory. Returns the response to a call about them,
 * which may complete that of the engine, and undefined for any other call.
 */
export function tableSettings(stackTable: () => StackTable) {
  const tags = new Map<string, Tag[]>();
  const recoverable = new Set<string>();
  const streams = new Map<string, Stream>();
  const nameIn = (arn: unknown) => String(arn).split('/').at(-1) as string;
  const tagsOf = (name: string) => {
    const { TableName, Tags = [] } = stackTable();
    return [...(name === TableName ? Tags : []), ...(tags.get(name) ?? [])];
  };

  return async (
    operation: string,
    input: Record<string, unknown>,
    callEngine: (operation: string, body: string) => Promise<AwsResponse>,
  ): Promise<AwsResponse | undefined> => {
    const { ResourceArn, TableName, Tags, StreamSpecification } = input;
    const name = String(TableName);
    const describeAs = async (member: 'Table' | 'TableDescription'): Promise<AwsResponse> => {
      const { status, body } = await callEngine('DescribeTable', JSON.stringify({ TableName }));
      const { Table, ...error } = JSON.parse(String(body));
      if (!Table) return { status, body: error };
      return {
        status,
        body: { [member]: { ...Table, ...streamOf(Table.TableArn, streams.get(name)) } },
      };
    };
    switch (operation) {
      case 'ListTagsOfResource':
        return { status: 200, body: { Tags: tagsOf(nameIn(ResourceArn)) } };
      case 'TagResource': {
        const byName = new Map(
          [...(tags.get(nameIn(ResourceArn)) ?? []), ...(Tags as Tag[])].map((tag) => [
            tag.Key,
            tag,
          ]),
        );
        tags.set(nameIn(ResourceArn), [...byName.values()]);
        return { status: 200, body: {} };
      }
      case 'UpdateContinuousBackups':
        recoverable.add(name);
        return { status: 200, body: continuousBackups(true) };
      case 'DescribeContinuousBackups':
        return { status: 200, body: continuousBackups(recoverable.has(name)) };
      case 'UpdateTable': {
        if (!StreamSpecification) return undefined;
        streams.set(name, { StreamSpecification, label: new Date().toISOString().slice(0, -1) });
        return describeAs('TableDescription');
      }
      case 'DescribeTable':
        return streams.has(name) ? describeAs('Table') : undefined;
      case 'DeleteTable':
        streams.delete(name);
        return undefined;
      default:
        return undefined;
    }
  };
}

interface Stream {
  readonly StreamSpecification: unknown;
  /** The time at which the stream was enabled, which ends its ARN. */
  readonly label: string;
}

const streamOf = (tableArn: string, stream: Stream | undefined) =>
  stream && {
    StreamSpecification: stream.StreamSpecification,
    LatestStreamLabel: stream.label,
    LatestStreamArn: `${tableArn}/stream/${stream.label}`,
  };

const continuousBackups = (isRecoverable: boolean) => ({
  ContinuousBackupsDescription: {
    ContinuousBackupsStatus: 'ENABLED',
    PointInTimeRecoveryDescription: {
      PointInTimeRecoveryStatus: isRecoverable ? 'ENABLED' : 'DISABLED',
    },
  },
});
