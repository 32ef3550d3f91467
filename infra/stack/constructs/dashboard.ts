import { Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { RequestKind } from '../../../lib/contract/contract.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Metrics } from './metrics.ts';

interface Props extends Pick<Settings, 'tableMaximum' | 'edge'> {
  readonly metrics: Metrics;
  readonly alarms: Alarm[];
  readonly keyIds: readonly string[];
}

const KINDS: readonly RequestKind[] = ['login', 'reset', 'change', 'read'];

/** The dashboard of an environment, named after its stack and region. */
export class EnvironmentDashboard extends Construct {
  constructor(scope: Construct, id: string, props: Props) {
    const { metrics, alarms, keyIds, tableMaximum, edge } = props;
    super(scope, id);
    const { stackName, region } = Stack.of(this);
    // Dashboards belong to the account: the same environment in another region needs another name.
    const dashboard = new Dashboard(this, 'Dashboard', { dashboardName: `${stackName}-${region}` });
    if (alarms.length > 0)
      dashboard.addWidgets(new AlarmStatusWidget({ alarms, width: 24, height: 3 }));
    const { duration } = metrics;
    dashboard.addWidgets(
      graph(
        'Requests',
        KINDS.map((kind) => duration(kind, Stats.SAMPLE_COUNT)),
        { stacked: true },
      ),
      graph(
        'Latency (ms), p50 and p99',
        KINDS.flatMap((kind) => ['p50', 'p99'].map((p) => duration(kind, p))),
      ),
      graph('Responses of the API', [metrics.clientErrors, metrics.serverErrors]),
    );
    dashboard.addWidgets(
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
    );
    dashboard.addWidgets(
      graph(
        'Capacity: read units per second',
        [metrics.readUnits],
        maximum(tableMaximum.readUnits),
      ),
      graph(
        'Capacity: write units per second',
        [metrics.writeUnits],
        maximum(tableMaximum.writeUnits),
      ),
      graph('Calls to KMS', metrics.keyUse(keyIds)),
    );
    dashboard.addWidgets(
      graph('Mail of the account', metrics.mail),
      graph('Mail not sent, and the longest wait of a mail (ms)', [metrics.mailsNotSent], {
        right: [metrics.mailDelay],
      }),
      graph('Findings of the daily verification', [metrics.findings]),
    );
    dashboard.addWidgets(
      graph('Oldest pending restart of a module (hours), measured once a day', [
        metrics.oldestPendingRestart,
      ]),
      ...(edge
        ? [
            graph('Requests that the edge blocks', metrics.edgeBlocks),
            graph('Requests not from the edge', [metrics.rejections('not-from-edge')]),
          ]
        : []),
    );
  }
}

const graph = (title: string, left: IMetric[], props: GraphWidgetProps = {}) =>
  new GraphWidget({ title, left, width: 8, ...props });

const maximum = (value: number) => ({ leftAnnotations: [{ value, label: 'tableMaximum' }] });
