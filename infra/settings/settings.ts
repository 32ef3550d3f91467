import * as v from 'valibot';
import { backup, replicatedKeys } from './backup.ts';
import { EDGE_REGION, edge } from './edge.ts';
import { environmentSettings, isCommercial } from './environment.ts';
import { existing } from './existing.ts';
import { hostNameSettings } from './host-names.ts';
import { issuers, issuerVariables } from './issuers.ts';
import { keyIds, keySettings } from './keys.ts';
import { limitSettings } from './limits.ts';
import { console, mail } from './mail.ts';
import { moduleIssuers } from './module-issuers.ts';

/**
 * Lambda accepts 4,096 bytes for the environment of a function, and measures its JSON text. The
 * other variables of public endpoints need up to 1,580.
 */
const VARIABLES_BYTES_MAX = 2500;

const fields = v.strictObject({
  ...environmentSettings,
  existing,
  backup,
  ...limitSettings,
  ...keySettings,
  console,
  issuers,
  moduleIssuers,
  mail,
  ...hostNameSettings,
  edge,
});

const rule = (
  path: readonly string[],
  holds: (settings: v.InferOutput<typeof fields>) => boolean,
  message: string,
) => v.forward(v.check(holds, message), path as ['region']);

const regionOf = (arn: string): string | undefined => arn.split(':')[3];

/** Whether all ARNs that are given are of this account; any is, if none is named. */
const areOf = (account: string | undefined, ...arns: (string | undefined)[]): boolean =>
  account === undefined || arns.every((arn) => arn === undefined || arn.split(':')[4] === account);

const areHttps = (...urls: readonly string[]): boolean =>
  urls.every((url) => url.startsWith('https://'));

/** The schema of the settings of one environment; docs/settings.md is made from it. */
export const settings = v.pipe(
  fields,
  rule(
    ['account'],
    ({ keepData, account }) => !keepData || account !== undefined,
    'An environment that keeps its data requires the number of its AWS account',
  ),
  rule(
    ['account'],
    ({ account, alarms, existing, domain, edge }) =>
      areOf(
        account,
        alarms?.startsWith('arn:') ? alarms : undefined,
        existing?.tableStream,
        ...Object.values(existing?.keys ?? {}),
        domain?.certificate,
        edge?.certificate,
      ),
    'The topic of the alarms, the certificates and the existing table and keys must be of this ' +
      'account',
  ),
  rule(
    ['alarms'],
    ({ keepData, alarms }) => !keepData || alarms !== undefined,
    'An environment that keeps its data requires a recipient of its alarms: the ARN of an ' +
      'SNS topic or an e-mail address',
  ),
  rule(
    ['alarms'],
    ({ region, alarms = '' }) => !alarms.startsWith('arn:') || regionOf(alarms) === region,
    'An alarm can only notify a topic in its own region, which is the region of the environment',
  ),
  rule(
    ['monthlyBudget'],
    ({ monthlyBudget, alarms }) => monthlyBudget === undefined || alarms !== undefined,
    'requires alarms, whose recipient AWS Budgets notifies',
  ),
  rule(
    ['deployment'],
    ({ deployment, alarms }) => deployment !== 'canary' || alarms !== undefined,
    'A canary requires alarms: they roll it back',
  ),
  rule(
    ['domain', 'certificate'],
    ({ region, domain }) => !domain || regionOf(domain.certificate) === region,
    'API Gateway can only use a certificate in its own region, which is the region of the environment',
  ),
  rule(
    ['edge'],
    ({ edge, domain }) => !edge || domain !== undefined,
    'requires domain: the edge reaches the API under a host name that does not change',
  ),
  rule(
    ['edge', 'hostName'],
    ({ edge, domain }) => !edge || edge.hostName !== domain?.name,
    'must differ from domain.name, under which the edge reaches the API',
  ),
  rule(
    ['edge', 'certificate'],
    ({ edge }) => !edge || regionOf(edge.certificate) === EDGE_REGION,
    `CloudFront can only use a certificate in ${EDGE_REGION}`,
  ),
  rule(
    ['corsOrigins'],
    ({ corsOrigins, edge, issuers, moduleIssuers }) =>
      Buffer.byteLength(
        JSON.stringify(issuerVariables({ issuers, moduleIssuers })) +
          corsOrigins.join() +
          (edge?.hostName ?? ''),
      ) <= VARIABLES_BYTES_MAX,
    'corsOrigins, edge.hostName, issuers and moduleIssuers together must not exceed 2,500 bytes: ' +
      'they are part of the environment of a function',
  ),
  rule(
    ['mail', 'confirmLinkBase'],
    ({ console, confirmEmailChanges, mail }) =>
      console || !confirmEmailChanges || mail.confirmLinkBase !== undefined,
    'is required by confirmEmailChanges without the console: the URL of the page to which a ' +
      'mailed key is appended, and which sends the key to POST /api/account/confirm-email',
  ),
  rule(
    ['mail', 'linkBase'],
    ({ console, mail }) => console || mail.linkBase !== undefined,
    'is required without the console: the URL of the page to which a mailed key is appended, and ' +
      'which sends the key to POST /api/account/reset-password/finish',
  ),
  rule(
    ['mail', 'confirmLinkBase'],
    ({ keepData, mail: { confirmLinkBase = 'https://' } }) =>
      !keepData || areHttps(confirmLinkBase),
    'With keepData, the page must be loaded over https: whoever reads the link can confirm the ' +
      'address',
  ),
  rule(
    ['mail', 'linkBase'],
    ({ keepData, mail: { linkBase = 'https://' } }) => !keepData || areHttps(linkBase),
    'With keepData, the page must be loaded over https: whoever reads the link can set the ' +
      'password',
  ),
  rule(
    ['corsOrigins'],
    ({ keepData, corsOrigins }) => !keepData || areHttps(...corsOrigins),
    'With keepData, all origins must be https: whoever alters a page can use the tokens of ' +
      'its users',
  ),
  rule(
    ['issuers'],
    ({ keepData, issuers }) =>
      !keepData ||
      issuers.every(({ issuer, authorizationEndpoint, tokenEndpoint, keys }) =>
        areHttps(issuer, authorizationEndpoint, tokenEndpoint, keys),
      ),
    'With keepData, all URLs must be https: whoever answers for a provider can log in as anybody',
  ),
  rule(
    ['ssoOnly'],
    ({ ssoOnly, issuers }) => !ssoOnly || issuers.length > 0,
    'requires issuers: otherwise nobody could log in',
  ),
  rule(
    ['moduleIssuers'],
    ({ issuers, moduleIssuers }) =>
      moduleIssuers.every(({ issuer }) => issuers.every((other) => other.issuer !== issuer)),
    'An issuer must not be in issuers as well: its tokens stand for people or for modules',
  ),
  rule(
    ['moduleIssuers'],
    ({ keepData, moduleIssuers }) =>
      !keepData || moduleIssuers.every(({ issuer, keys }) => areHttps(issuer, keys)),
    'With keepData, all URLs must be https: whoever answers for a platform can be any module',
  ),
  rule(
    ['pepperKeys'],
    ({ region, pepperKeys }) => !region.startsWith('us-gov-') || pepperKeys.length <= 2,
    'There can be two at most in GovCloud: its ARNs are longer, and three exceed the tag of the table',
  ),
  rule(
    ['existing'],
    ({ keepData, existing: { tableStream, keys = {} } = {} }) =>
      keepData || (!tableStream && Object.keys(keys).length === 0),
    'requires keepData: without it, a table and keys that the stack no longer manages ' +
      'would be deleted',
  ),
  rule(
    ['existing', 'tableStream'],
    ({ region, existing: { tableStream } = {} }) =>
      tableStream === undefined || regionOf(tableStream) === region,
    'The table must be in the region of the environment',
  ),
  rule(
    ['existing', 'keys'],
    ({ pepperKeys, signingKeys, moduleKeys, existing: { keys = {} } = {} }) => {
      const known = keyIds({ pepperKeys, signingKeys, moduleKeys });
      return Object.keys(keys).every((id) => known.includes(id));
    },
    'There are only TableKey, ValuesKey, FactorKey and the keys in pepperKeys, signingKeys and ' +
      'moduleKeys',
  ),
  rule(
    ['existing', 'keys'],
    ({ region, existing: { keys = {} } = {} }) =>
      Object.values(keys).every((arn) => regionOf(arn) === region),
    'A key must be in the region of the environment',
  ),
  rule(
    ['backup'],
    ({ keepData, backup }) => keepData || !backup,
    'requires keepData: without it, no data is kept',
  ),
  rule(
    ['backup', 'lockedDays'],
    ({ backup: { days, lockedDays } = { days: 0 } }) => (lockedDays ?? 0) <= days,
    'must not exceed backup.days: AWS Backup makes no copy that would be deleted before',
  ),
  rule(
    ['backup', 'region'],
    ({ region, backup }) =>
      !backup || (backup.region !== region && isCommercial(backup.region) && isCommercial(region)),
    'must be another region than the environment has, and both in the partition aws: AWS ' +
      'copies nothing between partitions, and forwards no events between the regions of others',
  ),
  rule(
    ['edge'],
    ({ region, edge }) => !edge || isCommercial(region),
    'is possible only in the partition aws: CloudFront and its web ACL belong to us-east-1, ' +
      'which credentials of other partitions do not reach',
  ),
  rule(
    ['backup', 'existingReplicas'],
    ({ backup, pepperKeys }) =>
      backup?.existingReplicas?.every((id) => replicatedKeys(pepperKeys).includes(id)) !== false,
    'There are only replicas of ValuesKey, FactorKey and the keys in pepperKeys',
  ),
  rule(
    ['existing', 'keys'],
    ({ backup, pepperKeys, existing: { keys = {} } = {} }) =>
      !backup ||
      replicatedKeys(pepperKeys).every((id) => keys[id]?.includes(':key/mrk-') !== false),
    'With backup, ValuesKey, FactorKey and those in pepperKeys must be multi-Region keys, whose ' +
      'ids begin with mrk-: no other key can be replicated',
  ),
);

export type Settings = v.InferOutput<typeof settings> & {
  /** Whether `-c unprotected=true` omits the protection against deletion. */
  readonly unprotected?: boolean | undefined;
};
