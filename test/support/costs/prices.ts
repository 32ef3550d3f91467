interface Price {
  readonly dollars: number;
  readonly per: string;
  readonly page: string;
}

const price = (dollars: number, per: string, page: string): Price => ({ dollars, per, page });
const GATEWAY = 'https://aws.amazon.com/api-gateway/pricing/';
const LAMBDA = 'https://aws.amazon.com/lambda/pricing/';
const DYNAMODB = 'https://aws.amazon.com/dynamodb/pricing/on-demand/';
const KMS = 'https://aws.amazon.com/kms/pricing/';
const WAF = 'https://aws.amazon.com/waf/pricing/';
const CLOUDFRONT = 'https://aws.amazon.com/cloudfront/pricing/pay-as-you-go/';
const CLOUDWATCH = 'https://aws.amazon.com/cloudwatch/pricing/';

/**
 * Prices of eu-central-1 for the first tier of usage, without taxes and free tiers. docs/cost.md
 * says how to check.
 */
export const PRICES = {
  gatewayRequest: price(1.2, 'million requests to the HTTP API, of up to 512 KB', GATEWAY),
  functionRequest: price(0.2, 'million invocations', LAMBDA),
  functionDuration: price(0.0000133334, 'GB-second on arm64', LAMBDA),
  read: price(0.1525, 'million read request units', DYNAMODB),
  write: price(0.7625, 'million write request units', DYNAMODB),
  tableStorage: price(0.306, 'GB of the table and month', DYNAMODB),
  recoveryStorage: price(0.2448, 'GB of the table and month, for point-in-time recovery', DYNAMODB),
  key: price(1, 'key and month', KMS),
  symmetricCall: price(3, 'million calls with a symmetric or HMAC key', KMS),
  signature: price(15, 'million calls with an elliptic-curve key', KMS),
  mail: price(100, 'million mails', 'https://aws.amazon.com/ses/pricing/'),
  logIngestion: price(0.63, 'GB of logs', CLOUDWATCH),
  logStorage: price(0.0324, 'GB of compressed logs and month', CLOUDWATCH),
  alarm: price(0.1, 'metric of an alarm and month', CLOUDWATCH),
  metric: price(0.3, 'custom metric and month', CLOUDWATCH),
  dashboard: price(3, 'dashboard and month', CLOUDWATCH),
  transfer: price(0.09, 'GB to the internet', 'https://aws.amazon.com/ec2/pricing/on-demand/'),
  webAcl: price(5, 'web ACL and month', WAF),
  webAclRule: price(1, 'rule of a web ACL and month', WAF),
  webAclRequest: price(0.6, 'million requests that WAF inspects', WAF),
  edgeRequest: price(1.2, 'million HTTPS requests to CloudFront in Europe', CLOUDFRONT),
  edgeFunction: price(0.1, 'million runs of a CloudFront Function', CLOUDFRONT),
  edgeTransfer: price(0.085, 'GB from CloudFront to the internet', CLOUDFRONT),
  secret: price(0.4, 'secret and month', 'https://aws.amazon.com/secrets-manager/pricing/'),
} as const satisfies Record<string, Price>;
