import { beforeAll, expect } from 'vitest';
import type { Gatehouse } from './launch.ts';

export const INTEGRATION = { name: 'Gate logs', shortName: 'gate', integrationType: 'API' };

/**
 * Spellings of an id in a path, in which `#` is the id of an entity, that identify neither this
 * entity nor another; test/unit/schemas.test.ts has more.
 */
export const UNKNOWN_IDS = ['0#', '#%20', 'abc', '777777'];

export function useIntegrations(gatehouse: Gatehouse) {
  let token: string;
  beforeAll(async () => {
    token = await gatehouse.logIn('user');
  });

  function requestsOn(path: string) {
    const requests = {
      post: (body: unknown) => gatehouse.call('POST', path, { token, body }),
      put: (body: unknown) => gatehouse.call('PUT', path, { token, body }),
      remove: (id: number | string) => gatehouse.call('DELETE', `${path}/${id}`, { token }),
      get: (id: number | string) => gatehouse.call('GET', `${path}/${id}`, { token }),
      list: (query = '') => gatehouse.call('GET', `${path}${query}`, { token }),
      total: async () => Number((await requests.list('?size=1')).headers['x-total-count']),
      async make(body: object) {
        const { status, text, body: created } = await requests.post(body);
        expect(status, text).toBe(201);
        return created;
      },
      /** Expects 404 for this spelling of the entity's id, and that the entity remains. */
      async expectUnknownId(spelling: string, entity: { id: number }) {
        const id = spelling.replace('#', String(entity.id));

        const responses = [await requests.remove(id), await requests.get(id)];

        for (const response of responses)
          expect(response).toMatchObject({ status: 404, body: { message: 'error.http.404' } });
        expect((await requests.get(entity.id)).body).toEqual(entity);
      },
    };
    return requests;
  }
  return {
    integrations: requestsOn('/api/utm-integrations'),
    parameters: requestsOn('/api/utm-integration-confs'),
  };
}
