import { type CfnKey, type IKey, Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { Route } from '../../../routes.ts';
import { replicatedKeys } from '../../settings/backup.ts';
import { keyDescription } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import type { GatehouseFunction } from './gatehouse-function.ts';

const SYMMETRIC = {
  keySpec: KeySpec.SYMMETRIC_DEFAULT,
  keyUsage: KeyUsage.ENCRYPT_DECRYPT,
  enableKeyRotation: true,
};
// KMS creates a single-Region key unless told otherwise, which cannot be changed later. What these
// keys protect would be lost with the region; docs/adr/0016 has the reasons.
const VALUES = { ...SYMMETRIC, multiRegion: true };
const HMAC = {
  keySpec: KeySpec.HMAC_256,
  keyUsage: KeyUsage.GENERATE_VERIFY_MAC,
  enableKeyRotation: false,
  multiRegion: true,
};
const SIGNING = {
  keySpec: KeySpec.ECC_NIST_P256,
  keyUsage: KeyUsage.SIGN_VERIFY,
  enableKeyRotation: false,
};

/** The KMS keys; grants each function the key ARNs together with the actions of its row. */
export class Keys extends Construct {
  readonly table: IKey;
  /** Wraps the data keys that encrypt parameter values. */
  readonly values: IKey;
  /** Compute the HMAC over password hashes. The first one does so for new hashes; all verify. */
  readonly pepper: readonly IKey[];
  /** Derives the secrets of second factors. */
  private readonly factor: IKey;
  /** The first one signs tokens of people; all are published. */
  private readonly signing: readonly IKey[];
  /** The first one signs tokens of modules; all verify. */
  private readonly module: readonly IKey[];

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const { pepperKeys, signingKeys, moduleKeys, existing } = settings;
    const addKey = (logicalId: string, props: typeof SYMMETRIC): IKey => {
      const arn = existing?.keys?.[logicalId];
      if (arn) return Key.fromKeyArn(this, logicalId, arn);
      const key = new Key(this, logicalId, { description: keyDescription(logicalId), ...props });
      // A different logical id would replace the key and make everything encrypted or signed with
      // it unusable.
      (key.node.defaultChild as CfnKey).overrideLogicalId(logicalId);
      return key;
    };
    this.table = addKey('TableKey', SYMMETRIC);
    this.values = addKey('ValuesKey', VALUES);
    this.pepper = pepperKeys.map((name) => addKey(name, HMAC));
    this.factor = addKey('FactorKey', HMAC);
    this.signing = signingKeys.map((name) => addKey(name, SIGNING));
    this.module = moduleKeys.map((name) => addKey(name, SIGNING));
  }

  get all(): readonly IKey[] {
    return [this.table, this.values, ...this.pepper, this.factor, ...this.signing, ...this.module];
  }

  /** The keys of which a second region needs replicas. */
  get replicated(): readonly IKey[] {
    const ids = replicatedKeys(this.pepper.map(({ node }) => node.id));
    return this.all.filter(({ node }) => ids.includes(node.id));
  }

  grantTo(fn: GatehouseFunction, { permissions }: Route): void {
    // Without the encryption context that binds a value to its integration, KMS would accept any.
    const conditions = {
      StringEquals: { 'kms:EncryptionContext:service': 'gatehouse' },
      Null: { 'kms:EncryptionContext:integration': 'false' },
    };
    const uses = {
      sign: ['SIGNING_KEYS', this.signing, ['kms:Sign', 'kms:GetPublicKey']],
      signModule: ['MODULE_KEYS', this.module, ['kms:Sign', 'kms:GetPublicKey']],
      verifyModule: ['MODULE_KEYS', this.module, ['kms:GetPublicKey']],
      pepper: ['PEPPER_KEYS', this.pepper, ['kms:GenerateMac']],
      factor: ['FACTOR_KEY', [this.factor], ['kms:GenerateMac']],
      seal: ['VALUES_KEY', [this.values], ['kms:GenerateDataKey'], conditions],
      unseal: ['VALUES_KEY', [this.values], ['kms:Decrypt'], conditions],
    } satisfies Record<string, [string, readonly IKey[], string[], Record<string, object>?]>;
    for (const use of permissions.keys ?? []) {
      const [variable, keys, actions, conditions] = uses[use];
      const arns = keys.map(({ keyArn }) => keyArn);
      fn.addEnvironment(variable, arns.join(','));
      fn.allow(actions, arns, conditions);
    }
  }
}
