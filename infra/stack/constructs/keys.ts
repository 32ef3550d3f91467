import { RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type CfnKey, type IKey, Key, type KeyProps, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Route } from '../../../routes.ts';
import type { Settings } from '../../settings/settings.ts';

/**
 * The KMS keys; grants each function the key ARNs together with the KMS actions that its row
 * requires.
 */
export class Keys extends Construct {
  /** Encrypts the table. */
  readonly table: IKey;
  /** Compute the HMAC over password hashes. The first one does so for new hashes; all verify. */
  readonly pepper: IKey[];
  /** The signing keys of tokens. The first one signs; all are published. */
  private readonly signing: IKey[];
  /** Wraps the data keys that encrypt parameter values. */
  readonly values: IKey;
  readonly all: readonly IKey[];

  constructor(
    scope: Construct,
    id: string,
    { keepData, pepperKeys, signingKeys, existing }: Settings,
  ) {
    super(scope, id);
    const addKey = (logicalId: string, description: string, props: KeyProps): IKey => {
      const arn = existing?.keys?.[logicalId];
      if (arn) return Key.fromKeyArn(this, logicalId, arn);
      const key = new Key(this, logicalId, {
        description: `Gatehouse: ${description}`,
        enableKeyRotation: false,
        removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
        ...props,
      });
      // A different logical id would replace the key and make everything encrypted or signed with
      // it unusable.
      (key.node.defaultChild as CfnKey).overrideLogicalId(logicalId);
      return key;
    };
    const symmetric = {
      keySpec: KeySpec.SYMMETRIC_DEFAULT,
      keyUsage: KeyUsage.ENCRYPT_DECRYPT,
      enableKeyRotation: true,
    };
    const hmac = { keySpec: KeySpec.HMAC_256, keyUsage: KeyUsage.GENERATE_VERIFY_MAC };
    const signature = { keySpec: KeySpec.ECC_NIST_P256, keyUsage: KeyUsage.SIGN_VERIFY };
    // KMS creates a single-Region key unless told otherwise, which cannot be changed later. What
    // these keys protect would be lost with the region; docs/adr/0016 has the reasons.
    const multiRegion = true;
    this.table = addKey('TableKey', 'encrypts the table', symmetric);
    this.values = addKey('ValuesKey', 'wraps the keys of parameter values', {
      ...symmetric,
      multiRegion,
    });
    this.pepper = pepperKeys.map((id) =>
      addKey(id, 'protects password hashes', { ...hmac, multiRegion }),
    );
    this.signing = signingKeys.map((id) => addKey(id, 'signs tokens', signature));
    this.all = [this.table, this.values, ...this.pepper, ...this.signing];
  }

  grantTo(fn: LambdaFunction, { permissions }: Route): void {
    const uses = {
      sign: {
        variable: 'SIGNING_KEYS',
        keys: this.signing,
        actions: ['kms:Sign', 'kms:GetPublicKey'],
      },
      pepper: { variable: 'PEPPER_KEYS', keys: this.pepper, actions: ['kms:GenerateMac'] },
      seal: { variable: 'VALUES_KEY', keys: [this.values], actions: ['kms:GenerateDataKey'] },
      unseal: { variable: 'VALUES_KEY', keys: [this.values], actions: ['kms:Decrypt'] },
    };
    for (const use of permissions.keys ?? []) {
      const { variable, keys, actions } = uses[use];
      const arns = keys.map(({ keyArn }) => keyArn);
      fn.addEnvironment(variable, arns.join(','));
      fn.addToRolePolicy(
        new PolicyStatement({
          actions,
          resources: arns,
          // Requires the encryption context that binds a value to its integration; without this
          // condition, KMS would accept any context.
          ...(keys.includes(this.values) && {
            conditions: {
              StringEquals: { 'kms:EncryptionContext:service': 'gatehouse' },
              Null: { 'kms:EncryptionContext:integration': 'false' },
            },
          }),
        }),
      );
    }
  }
}
