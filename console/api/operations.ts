import type * as Api from './generated/types.gen.ts';

/** An endpoint with the types of its request and its response. */
export interface Operation<Data extends object, Response> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** Exists in the type only. */
  readonly types?: (data: Data) => Response;
}

/** What a request needs. The query of a list is the page's, with any filter. */
export type Arguments<Data extends object> = Pick<Data, Extract<keyof Data, 'body' | 'path'>> & {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
};

function operation<Data extends { url: string }, Response>(
  method: Operation<Data, Response>['method'],
  url: Data['url'],
): Operation<Data, Response> {
  return { method, url };
}

export const authenticate = operation<Api.AuthenticateData, Api.AuthenticateResponse>(
  'POST',
  '/api/authenticate',
);
export const logOut = operation<Api.LogOutData, unknown>('POST', '/api/logout');
export const requestReset = operation<
  { url: '/api/account/reset-password/init'; body: { email: string } },
  unknown
>('POST', '/api/account/reset-password/init');
export const finishReset = operation<Api.FinishResetData, unknown>(
  'POST',
  '/api/account/reset-password/finish',
);
export const confirmEmail = operation<Api.ConfirmEmailData, unknown>(
  'POST',
  '/api/account/confirm-email',
);

export const getAccount = operation<Api.GetAccountData, Api.GetAccountResponse>(
  'GET',
  '/api/account',
);
export const updateAccount = operation<Api.UpdateAccountData, unknown>('POST', '/api/account');
export const changePassword = operation<Api.ChangePasswordData, unknown>(
  'POST',
  '/api/account/change-password',
);
export const listSessions = operation<Api.ListSessionsData, Api.ListSessionsResponse>(
  'GET',
  '/api/account/sessions',
);
export const endSession = operation<Api.EndSessionData, unknown>(
  'POST',
  '/api/account/sessions/{series}/end',
);
export const endOtherSessions = operation<Api.EndOtherSessionsData, unknown>(
  'POST',
  '/api/account/end-other-sessions',
);
export const requestFactor = operation<
  Api.RequestSecondFactorData,
  Api.RequestSecondFactorResponse
>('POST', '/api/account/second-factor');
export const confirmFactor = operation<
  Api.ConfirmSecondFactorData,
  Api.ConfirmSecondFactorResponse
>('POST', '/api/account/second-factor/confirm');
export const disableFactor = operation<Api.DisableSecondFactorData, unknown>(
  'POST',
  '/api/account/second-factor/disable',
);
export const replaceRecoveryCodes = operation<
  Api.ReplaceRecoveryCodesData,
  Api.ReplaceRecoveryCodesResponse
>('POST', '/api/account/second-factor/recovery-codes');

export const listUsers = operation<Api.ListUsersData, Api.ListUsersResponse>('GET', '/api/users');
export const createUser = operation<Api.CreateUserData, Api.CreateUserResponse>(
  'POST',
  '/api/users',
);
export const updateUser = operation<Api.UpdateUserData, Api.UpdateUserResponse>(
  'PUT',
  '/api/users',
);
export const getUser = operation<Api.GetUserData, Api.GetUserResponse>('GET', '/api/users/{login}');
export const deleteUser = operation<Api.DeleteUserData, unknown>('DELETE', '/api/users/{login}');
export const listUserSessions = operation<Api.ListUserSessionsData, Api.ListUserSessionsResponse>(
  'GET',
  '/api/users/{login}/sessions',
);
export const endUserSession = operation<Api.EndUserSessionData, unknown>(
  'POST',
  '/api/users/{login}/sessions/{series}/end',
);
export const endUserSessions = operation<Api.EndUserSessionsData, unknown>(
  'POST',
  '/api/users/{login}/end-sessions',
);
export const removeFactor = operation<Api.RemoveSecondFactorData, unknown>(
  'POST',
  '/api/users/{login}/second-factor/remove',
);

export const listIntegrations = operation<Api.ListIntegrationsData, Api.ListIntegrationsResponse>(
  'GET',
  '/api/utm-integrations',
);
export const createIntegration = operation<
  Api.CreateIntegrationData,
  Api.CreateIntegrationResponse
>('POST', '/api/utm-integrations');
export const updateIntegration = operation<
  Api.UpdateIntegrationData,
  Api.UpdateIntegrationResponse
>('PUT', '/api/utm-integrations');
export const getIntegration = operation<Api.GetIntegrationData, Api.GetIntegrationResponse>(
  'GET',
  '/api/utm-integrations/{id}',
);
export const deleteIntegration = operation<Api.DeleteIntegrationData, unknown>(
  'DELETE',
  '/api/utm-integrations/{id}',
);
export const listParameters = operation<Api.ListParametersData, Api.ListParametersResponse>(
  'GET',
  '/api/utm-integration-confs',
);
export const countParameters = operation<Api.CountParametersData, Api.CountParametersResponse>(
  'GET',
  '/api/utm-integration-confs/count',
);
export const getParameter = operation<Api.GetParameterData, Api.GetParameterResponse>(
  'GET',
  '/api/utm-integration-confs/{id}',
);
export const createParameter = operation<Api.CreateParameterData, Api.CreateParameterResponse>(
  'POST',
  '/api/utm-integration-confs',
);
export const updateParameter = operation<Api.UpdateParameterData, Api.UpdateParameterResponse>(
  'PUT',
  '/api/utm-integration-confs',
);
export const deleteParameter = operation<Api.DeleteParameterData, unknown>(
  'DELETE',
  '/api/utm-integration-confs/{id}',
);

export const listAudits = operation<Api.ListAuditsData, Api.ListAuditsResponse>(
  'GET',
  '/api/audits',
);
export const getHealth = operation<Api.GetHealthData, Api.GetHealthResponse>('GET', '/api/health');

export const listCredentials = operation<Api.ListCredentialsData, Api.ListCredentialsResponse>(
  'GET',
  '/api/utm-integrations/{id}/credentials',
);
export const createCredential = operation<Api.CreateCredentialData, Api.CreateCredentialResponse>(
  'POST',
  '/api/utm-integrations/{id}/credentials',
);
export const deleteCredential = operation<Api.DeleteCredentialData, unknown>(
  'POST',
  '/api/utm-integrations/{id}/credentials/{clientId}/delete',
);
export const listModules = operation<Api.ListModulesData, Api.ListModulesResponse>(
  'GET',
  '/api/modules',
);
