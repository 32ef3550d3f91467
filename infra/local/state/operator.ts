/** The credentials of every caller of the local cloud other than a function. */
export const OPERATOR = { accessKeyId: 'operator', secretAccessKey: 'local' };
