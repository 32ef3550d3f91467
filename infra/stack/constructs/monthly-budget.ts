import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { Construct } from 'constructs';
import { ENVIRONMENT_TAG } from '../../settings/environment.ts';

interface Props {
  readonly environment: string;
  readonly usDollars: number;
  /** An e-mail address or the ARN of a topic. */
  readonly recipient: string;
}

export class MonthlyBudget extends Construct {
  constructor(scope: Construct, id: string, { environment, usDollars, recipient }: Props) {
    super(scope, id);
    const subscribers = [
      { subscriptionType: recipient.startsWith('arn:') ? 'SNS' : 'EMAIL', address: recipient },
    ];
    const notify = (notificationType: 'ACTUAL' | 'FORECASTED', threshold: number) => ({
      notification: { notificationType, comparisonOperator: 'GREATER_THAN', threshold },
      subscribers,
    });
    new CfnBudget(this, 'Resource', {
      // Without a name: CloudFormation replaces a budget to change its recipient, and names are
      // unique: https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/365
      budget: {
        budgetType: 'COST',
        timeUnit: 'MONTHLY',
        budgetLimit: { amount: usDollars, unit: 'USD' },
        // https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-create-filters.html
        costFilters: { TagKeyValue: [`user:${ENVIRONMENT_TAG}$${environment}`] },
      },
      notificationsWithSubscribers: [notify('ACTUAL', 80), notify('FORECASTED', 100)],
    });
  }
}
