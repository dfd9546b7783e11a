// placement.js: why the worker of a call is where it is, or why there was none: as 'orchid explain' tells it.
import { get } from "/page/api.js";

function linesOf(decision) {
  return [
    `${decision.placed ? "placed" : `refused: ${decision.refusal}`} (policy ${decision.policy})`,
    ...(decision.data_at ? [`the data of its calls is at the executor ${decision.data_at}: no policy was asked`] : []),
    ...(decision.chosen || []).map((place) => `on ${place}`),
    ...(decision.alternatives || []).flatMap((tried) => [`${tried.wanted ? `for ${tried.wanted}: ` : ""}${tried.summary}`,
      ...(tried.examples || []).map((example) => `not ${example}`)]),
  ];
}

/** For people. `one`: an invocation. */
export async function placementOf(one) {
  if (!one.lease) return "It has reached no worker.";
  try {
    const { decisions } = await get(`/v1/leases/${encodeURIComponent(one.lease)}/placement`);
    return decisions.flatMap(linesOf).join("\n");
  } catch (error) {
    return error.status === 404 ? "What was decided about its place is no more remembered." : error.message;
  }
}
