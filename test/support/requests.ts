import type { Received } from './launch.ts';
import type { Act, ModelResponse } from './model.ts';

type Request = [method: string, path: string, body?: unknown];

/** The HTTP request for an act. */
export function requestOf(act: Act, idOf: (handle: string) => number, keyOf: (handle: string) => string): Request {
  const integration = (active = true) => ({ shortName: 'short', integrationType: 'API', active });
  switch (act.do) {
    case 'create user': {
      const { login, email, firstName, activated, authorities, password } = act;
      return ['POST', '/api/users', { login, email, firstName, activated, authorities, password }];
    }
    case 'update user': {
      const { login, email, activated, authorities, firstName } = act;
      return ['PUT', '/api/users', { id: idOf(act.user), login, email, activated, authorities, firstName }];
    }
    case 'delete user':
      return ['DELETE', `/api/users/${act.login}`];
    case 'update account':
      return ['POST', '/api/account', { email: act.email, firstName: act.firstName }];
    case 'change password':
      return ['POST', '/api/account/change-password', { currentPassword: act.from, newPassword: act.to }];
    case 'request reset':
      return ['POST', '/api/account/reset-password/init', { email: act.email }];
    case 'finish reset':
      return ['POST', '/api/account/reset-password/finish', { key: keyOf(act.key), newPassword: act.to }];
    case 'log in':
      return ['POST', '/api/authenticate', { username: act.login, password: act.password }];
    case 'read user':
      return ['GET', `/api/users/${act.login}`];
    case 'create integration':
      return ['POST', '/api/utm-integrations', { name: act.name, ...integration() }];
    case 'update integration': {
      const { name, description, active } = act;
      return ['PUT', '/api/utm-integrations', { id: idOf(act.integration), name, description, ...integration(active) }];
    }
    case 'delete integration':
      return ['DELETE', `/api/utm-integrations/${idOf(act.integration)}`];
    case 'report restart':
      return ['POST', `/api/utm-integrations/${idOf(act.integration)}/module/restarted`, { changes: act.changes }];
    case 'create parameter':
    case 'update parameter': {
      const { confName, confValue } = act;
      const body = { integration: { id: idOf(act.integration) }, confName, confValue };
      if (act.do === 'create parameter') return ['POST', '/api/utm-integration-confs', body];
      return ['PUT', '/api/utm-integration-confs', { id: idOf(act.parameter), ...body }];
    }
    case 'delete parameter':
      return ['DELETE', `/api/utm-integration-confs/${idOf(act.parameter)}`];
  }
}

/** The part of a response that the model predicts, in its form. */
export function comparable({ status, headers, body }: Received, expected: ModelResponse): object {
  const version = headers.etag && Number.parseInt(headers.etag.slice(1), 10);
  return {
    status,
    ...(status >= 400 && { message: body?.message }),
    ...(version !== undefined && { version }),
    ...(status < 300 && body !== undefined && 'body' in expected && { body: withoutDates(body) }),
  };
}

/** An entity without its dates, which the model does not predict. */
export const withoutDates = ({ createdDate: _c, lastModifiedDate: _m, ...rest }: Record<string, unknown>) => rest;
