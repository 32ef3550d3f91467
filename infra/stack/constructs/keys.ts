import { RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type CfnKey, type IKey, Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
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

  constructor(
    scope: Construct,
    id: string,
    { keepData, pepperKeys, signingKeys, existing }: Settings,
  ) {
    super(scope, id);
    const addKey = (
      logicalId: string,
      description: string,
      spec: KeySpec,
      usage: KeyUsage,
      { rotate = false, multiRegion = false } = {},
    ): IKey => {
      const arn = existing?.keys?.[logicalId];
      if (arn) return Key.fromKeyArn(this, logicalId, arn);
      const key = new Key(this, logicalId, {
        description: `Gatehouse: ${description}`,
        keySpec: spec,
        keyUsage: usage,
        enableKeyRotation: rotate,
        // Without the property, KMS creates a single-Region key. It cannot be changed later.
        ...(multiRegion && { multiRegion }),
        removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
      });
      // A different logical id would replace the key and make everything encrypted or signed with
      // it unusable.
      (key.node.defaultChild as CfnKey).overrideLogicalId(logicalId);
      return key;
    };
    const { SYMMETRIC_DEFAULT, HMAC_256, ECC_NIST_P256 } = KeySpec;
    const { ENCRYPT_DECRYPT, GENERATE_VERIFY_MAC, SIGN_VERIFY } = KeyUsage;
    this.table = addKey('TableKey', 'encrypts the table', SYMMETRIC_DEFAULT, ENCRYPT_DECRYPT, {
      rotate: true,
    });
    // What these two protect would be lost with the region; docs/adr/0016 has the reasons.
    this.values = addKey(
      'ValuesKey',
      'wraps the keys of parameter values',
      SYMMETRIC_DEFAULT,
      ENCRYPT_DECRYPT,
      {
        rotate: true,
        multiRegion: true,
      },
    );
    this.pepper = pepperKeys.map((key) =>
      addKey(key, 'protects password hashes', HMAC_256, GENERATE_VERIFY_MAC, { multiRegion: true }),
    );
    this.signing = signingKeys.map((key) =>
      addKey(key, 'signs tokens', ECC_NIST_P256, SIGN_VERIFY),
    );
  }

  /** The ids and ARNs of all keys. */
  list(): { readonly ids: string[]; readonly arns: string[] } {
    const all = [this.table, this.values, ...this.pepper, ...this.signing];
    return { ids: all.map(({ keyId }) => keyId), arns: all.map(({ keyArn }) => keyArn) };
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
