/** The credentials of callers of the local cloud that are not a function. */
export const OPERATOR = { accessKeyId: 'operator', secretAccessKey: 'local' };
