import { RegionInfo } from 'aws-cdk-lib/region-info';

/** The domain of AWS endpoints in a region: `amazonaws.com`, or that of another partition. */
export function domainOf(region: string): string {
  const { domainSuffix } = RegionInfo.get(region);
  if (domainSuffix) return domainSuffix;
  throw new Error(`The installed CDK does not know the region ${region}: update aws-cdk-lib.`);
}
