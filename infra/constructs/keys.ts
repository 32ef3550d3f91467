import { RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type CfnKey, Key, KeySpec, KeyUsage } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Route } from '../../routes.ts';
import type { Settings } from '../settings.ts';

/** The keys in KMS, and for each row the name of a key together with the right to do with it what the row says. */
export class Keys extends Construct {
  /** Encrypts the table. */
  readonly table: Key;
  /** Makes the HMAC over password hashes. */
  readonly pepper: Key;
  /** Those of tokens: the first signs. */
  private readonly signing: Key[];
  /** Wraps the data keys of parameter values. */
  private readonly values: Key;

  constructor(scope: Construct, id: string, { keepData, signingKeys }: Settings) {
    super(scope, id);
    const make = (logicalId: string, description: string, spec: KeySpec, usage: KeyUsage, rotate: boolean): Key => {
      const key = new Key(this, logicalId, {
        description: `Gatehouse: ${description}`,
        keySpec: spec,
        keyUsage: usage,
        enableKeyRotation: rotate,
        removalPolicy: keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
      });
      // Another logical id would mean another key, and what the old one made would be lost.
      (key.node.defaultChild as CfnKey).overrideLogicalId(logicalId);
      return key;
    };
    const { SYMMETRIC_DEFAULT, HMAC_256, ECC_NIST_P256 } = KeySpec;
    const { ENCRYPT_DECRYPT, GENERATE_VERIFY_MAC, SIGN_VERIFY } = KeyUsage;
    this.table = make('TableKey', 'encrypts the table', SYMMETRIC_DEFAULT, ENCRYPT_DECRYPT, true);
    this.values = make('ValuesKey', 'wraps the keys of parameter values', SYMMETRIC_DEFAULT, ENCRYPT_DECRYPT, true);
    this.pepper = make('PepperKey', 'protects password hashes', HMAC_256, GENERATE_VERIFY_MAC, false);
    this.signing = signingKeys.map((key) => make(key, 'signs tokens', ECC_NIST_P256, SIGN_VERIFY, false));
  }

  /** Names to a function the keys that its row uses, and allows that use. */
  grantTo(fn: LambdaFunction, { permissions }: Route): void {
    const uses = {
      sign: { setting: 'SIGNING_KEYS', keys: this.signing, actions: ['kms:Sign', 'kms:GetPublicKey'] },
      pepper: { setting: 'PEPPER_KEY', keys: [this.pepper], actions: ['kms:GenerateMac'] },
      seal: { setting: 'VALUES_KEY', keys: [this.values], actions: ['kms:GenerateDataKey'] },
      unseal: { setting: 'VALUES_KEY', keys: [this.values], actions: ['kms:Decrypt'] },
    };
    for (const use of permissions.keys ?? []) {
      const { setting, keys, actions } = uses[use];
      const arns = keys.map(({ keyArn }) => keyArn);
      fn.addEnvironment(setting, arns.join(','));
      fn.addToRolePolicy(
        new PolicyStatement({
          actions,
          resources: arns,
          // Without the context a value would be bound to nothing but its key.
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
