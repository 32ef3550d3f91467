/** The credentials of every caller of the local cloud other than a function. */
export const OPERATOR = { accessKeyId: 'operator', secretAccessKey: 'local' };

const { accessKeyId, secretAccessKey } = OPERATOR;
const variables = `AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey}`;

/** For a command in a shell, whose profile the AWS SDK would prefer. */
export const ENV_OPERATOR = `env -u AWS_PROFILE ${variables}`;
