import { Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Settings } from '../../settings/settings.ts';
import type { Keys } from './keys.ts';
import type { Metrics } from './metrics.ts';

const KINDS = ['login', 'reset', 'change', 'read'] as const;

interface Props {
  readonly settings: Settings;
  readonly metrics: Metrics;
  readonly keys: Keys;
  readonly alarms: Alarm[];
}

export class EnvironmentDashboard extends Construct {
  constructor(scope: Construct, id: string, { alarms, ...props }: Props) {
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    const status = new AlarmStatusWidget({ alarms, width: 24, height: 3 });
    new Dashboard(this, 'Dashboard', {
      // Dashboards belong to the account: the same environment in another region needs another
      // name.
      dashboardName: `${stackName}-${region}`,
      widgets: [...(alarms.length > 0 ? [[status]] : []), ...rowsOf(props)],
    });
  }
}

const rowsOf = ({
  settings: { tableMaximum, edge },
  metrics,
  keys,
}: Omit<Props, 'alarms'>): GraphWidget[][] => [
  [
    graph(
      'Requests',
      KINDS.map((kind) => metrics.duration(kind, 'SampleCount')),
      { stacked: true },
    ),
    graph(
      'Latency (ms), p50 and p99',
      KINDS.flatMap((kind) => ['p50', 'p99'].map((p) => metrics.duration(kind, p))),
    ),
    graph('Responses of the API', [metrics.clientErrors, metrics.serverErrors]),
  ],
  [
    graph('Rejections by failure code', [metrics.allRejections], { stacked: true }),
    graph('Conflicts and retries', [
      metrics.conflicts,
      metrics.failedConditions,
      metrics.retries,
      metrics.rejections('unavailable'),
    ]),
    graph('Throttles', [
      metrics.gatewayThrottles,
      metrics.functionThrottles,
      metrics.readThrottles,
      metrics.writeThrottles,
    ]),
  ],
  [
    capacity('read', metrics.readUnits, tableMaximum.readUnits),
    capacity('write', metrics.writeUnits, tableMaximum.writeUnits),
    graph(
      'Calls to KMS',
      keys.all.map(({ keyId }) => metrics.keyUse(keyId)),
    ),
  ],
  [
    graph('Mail of the account', metrics.mail),
    graph(
      'Mail not sent, and the longest wait of a mail (ms)',
      [metrics.mailsNotSent, metrics.mailsUnreachable],
      {
        right: [metrics.mailDelay],
      },
    ),
    graph('Findings of the daily verification', [metrics.findings]),
  ],
  [
    graph('Oldest pending restart of a module (hours), measured once a day', [
      metrics.oldestPendingRestart,
    ]),
    graph('Modules to look after, counted once a day', [metrics.modulesToWatch]),
    ...(edge
      ? [
          graph('Requests that the edge blocks', metrics.edgeBlocks),
          graph('Requests not from the edge', [metrics.rejections('not-from-edge')]),
        ]
      : []),
  ],
];

const graph = (title: string, left: IMetric[], props: GraphWidgetProps = {}) =>
  new GraphWidget({ title, left, width: 8, ...props });

const capacity = (units: string, used: IMetric, maximum: number) =>
  graph(`Capacity: ${units} units per second`, [used], {
    leftAnnotations: [{ value: maximum, label: 'tableMaximum' }],
  });
