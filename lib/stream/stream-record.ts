import type { Key } from '../table/keys.ts';

/** The part of a stream record that is used: the keys of an item that was created. */
export interface StreamRecord {
  readonly dynamodb: {
    readonly SequenceNumber: string;
    readonly Keys: Readonly<Record<'pk' | 'sk', { readonly S: string }>>;
  };
}

/** The records to be handed over again, together with all later ones. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** What Lambda states about an invocation. */
export interface Invocation {
  getRemainingTimeInMillis(): number;
}

/** The number of a record and the key of its item. */
export function parseRecord({ dynamodb }: StreamRecord): { key: Key; itemIdentifier: string } {
  const { Keys, SequenceNumber } = dynamodb;
  return { key: { pk: Keys.pk.S, sk: Keys.sk.S }, itemIdentifier: SequenceNumber };
}
