/** An error as the SDK throws it, with these further fields. */
export function awsError(name: string, fields: object = {}): Error {
  return Object.assign(new Error(name), { name, ...fields });
}

/** The error of a transaction that DynamoDB cancels, with one reason code per write. */
export function cancelledBy(...codes: string[]): Error {
  return awsError('TransactionCanceledException', {
    CancellationReasons: codes.map((Code) => ({ Code })),
  });
}
