import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { openDynamoDb } from './aws/dynamodb.ts';
import { type AwsCall, type AwsResponse, errorResponse, SEND_MAIL } from './calls/aws-call.ts';
import type { Instance } from './lambda/instance.ts';
import type { Running } from './running-stack.ts';

const SERVICES: Record<string, AwsCall['service']> = {
  DynamoDB_20120810: 'DynamoDB',
  TrentService: 'KMS',
  SES: 'SES',
};

export const awsEndpoint =
  (running: Running, callDynamoDb: ReturnType<typeof openDynamoDb>) =>
  async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const response = await respond(running, callDynamoDb, req).catch((error) =>
      errorResponse('InternalServerError', String(error), 500),
    );
    send(res, response);
  };

async function respond(
  running: Running,
  callDynamoDb: ReturnType<typeof openDynamoDb>,
  req: IncomingMessage,
): Promise<AwsResponse> {
  const target = req.url === SEND_MAIL ? 'SES.SendEmail' : String(req.headers['x-amz-target']);
  const [prefix = '', operation = ''] = target.split('.');
  const service = SERVICES[prefix];
  const text = await textOf(req);
  const [, accessKey] = /Credential=([^/]+)\//.exec(req.headers.authorization ?? '') ?? [];
  // A web page cannot send this header without the permission that a preflight asks for.
  if (accessKey === undefined)
    return errorResponse('MissingAuthenticationTokenException', 'The request is not signed', 403);
  if (!service) return unknownOperation(`The local cloud does not support ${prefix}`);

  const { functions, deployed, mailbox, options } = running;
  const instance = functions.instanceOf(accessKey);
  const functionName = instance?.config.name;
  const kill = () => void instance?.terminate(`${functionName} was killed`);
  const call = { service, operation, input: JSON.parse(text), functionName, kill };
  const rejection =
    instance &&
    ((await rejectUnlessBusy(instance, req, operation, running)) ??
      rejectUnlessAllowed(call, running));
  if (rejection) return rejection;
  const forward = async (): Promise<AwsResponse> => {
    if (service === 'KMS') return deployed.kms(operation, call.input);
    return service === 'SES' ? mailbox.send(call.input) : callDynamoDb(call);
  };
  return options.intercept ? options.intercept(call, forward) : forward();
}

async function rejectUnlessBusy(
  instance: Instance,
  req: IncomingMessage,
  operation: string,
  { lateCalls, options }: Running,
): Promise<AwsResponse | undefined> {
  const { name } = instance.config;
  if (instance.state === 'ended')
    return { ...unknownOperation(`${name} has ended`), cut: 'before' };
  if (instance.state !== 'idle') return undefined;
  // On a busy machine, a call that the function aborted before it responded may arrive only now.
  await wait(5);
  if (req.socket.destroyed || req.socket.readableEnded)
    return unknownOperation('The caller has closed the connection');
  lateCalls.push(`${name} ${operation}`);
  options.onLine(
    `${name} called ${operation} after it had responded: Lambda would have frozen the instance`,
  );
  return unknownOperation(`${name} has already responded`);
}

function rejectUnlessAllowed(
  call: AwsCall,
  { deployed, deniedCalls, options }: Running,
): AwsResponse | undefined {
  const denial = deployed.authorization.denialReason(call.functionName ?? '', call);
  if (denial === undefined) return undefined;
  deniedCalls.push(denial);
  options.onLine(denial);
  return errorResponse('AccessDeniedException', denial, call.service === 'SES' ? 403 : 400);
}

const unknownOperation = (message: string) => errorResponse('UnknownOperationException', message);

function send(res: ServerResponse, { status, body, cut }: AwsResponse): void {
  if (cut === 'before') return void res.destroy();
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  res.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': bytes });
  if (cut === 'middle') res.write(Buffer.from(text).subarray(0, bytes / 2), () => res.destroy());
  // As text, it is written together with the headers.
  else res.end(text);
}
