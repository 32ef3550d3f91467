import { Stack } from 'aws-cdk-lib';
import { EventBus, type EventPattern, Rule } from 'aws-cdk-lib/aws-events';
import { EventBus as EventBusTarget } from 'aws-cdk-lib/aws-events-targets';
import type { Construct } from 'constructs';

/** Forwards events of a stack to the region of the environment, whose rules notify of them. */
export function forwardEvents(
  scope: Construct,
  region: string,
  patterns: Readonly<Record<string, EventPattern>>,
): void {
  const eventBusArn = Stack.of(scope).formatArn({
    service: 'events',
    region,
    resource: 'event-bus',
    resourceName: 'default',
  });
  const target = new EventBusTarget(EventBus.fromEventBusArn(scope, 'AlarmEvents', eventBusArn));
  for (const [id, eventPattern] of Object.entries(patterns))
    new Rule(scope, id, {
      description: `Gatehouse: forwards ${id} to ${region}`,
      eventPattern,
      targets: [target],
    });
}
