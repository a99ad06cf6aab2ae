#!/usr/bin/env bash
# Measures how many audits one worker ends in a second, with a judge that answers at once.
#
#   tools/bench/throughput.sh [TRACES] [BYTES]      (20000 traces of 8192 bytes when not given)
#
# Publishes everything first, then starts the worker, so that the producer is not in the figure.
# The services, the judge, and the worker share this machine: quote it with the number of cores.
# BENCH_DATABASE_URL names another database than that of `./dev env`, GROUNDCREW a program that is built already.
set -euo pipefail

traces=${1:-20000}
bytes=${2:-8192}
root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
cd -- "$root"

work=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
    wait
    rm -rf -- "$work"
}
trap finish EXIT

groundcrew=${GROUNDCREW:-${CARGO_TARGET_DIR:-target}/release/groundcrew}
if [ -z "${GROUNDCREW:-}" ]; then cargo build --release --locked --bin groundcrew; fi
./dev service start
eval "$(./dev env)"
DATABASE_URL=${BENCH_DATABASE_URL:-$DATABASE_URL}
export DATABASE_URL
"$groundcrew" migrate >/dev/null

# One project per run keeps runs apart in a database that stays.
project=bench-$(date +%s)
answer='The gate opens at 10:00 on weekdays.'
cat >"$work/reply.json" <<JSON
{"faithfulness_score": 1.0, "total_claims": 1, "grounded_claims": 1, "hallucinated_claims": 0, "omitted_facts": 0, "claim_analysis": [{"claim_text": "$answer", "classification": "grounded", "supporting_evidence": "The gate opens at 10:00 on weekdays", "contradicting_evidence": null, "explanation": "The plan says so.", "severity": null, "source_id": "plan"}], "omission_flags": [], "overall_assessment": "Everything is supported."}
JSON
awk -v n="$traces" -v bytes="$bytes" -v project="$project" -v answer="$answer" 'BEGIN {
    words = "river stone lamp table garden window paper silver road cloud winter music bridge harbour letter candle ";
    filler = "";
    while (length(filler) < bytes) filler = filler words;
    for (i = 0; i < n; i++) {
        head = sprintf("{\"schema\":\"groundcrew.trace/v1\",\"trace_id\":\"t-%d\",\"project\":\"%s\",\"query\":\"When does the gate open?\",\"answer\":\"%s\",\"retrieval\":{\"retrieved_at\":\"2026-01-01T00:00:00Z\",\"chunks\":[{\"source_id\":\"plan\",\"rank\":1,\"text\":\"The gate opens at 10:00 on weekdays, number %d. ", i, project, answer, i);
        tail = "\"}]}}";
        print head substr(filler, 1, bytes - length(head) - length(tail)) tail;
    }
}' >"$work/traces.jsonl"

"$groundcrew" publish "$work/traces.jsonl" | tail -n 1

port=$(((RANDOM % 10000) + 30000))
"$groundcrew" judge practice --listen "127.0.0.1:$port" --canned-default "$work/reply.json" >"$work/judge.log" 2>&1 &
pids+=($!)
export GROUNDCREW_JUDGE__BASE_URL=http://127.0.0.1:$port/v1 GROUNDCREW_JUDGE__MODEL=groundcrew-practice-judge
export GROUNDCREW_LOG__LEVEL=warn
# A judge that answers at once leaves it to the number of audits in work how large the commits are.
export GROUNDCREW_JUDGE__MAX_CONCURRENCY=${CONCURRENCY:-128} GROUNDCREW_JUDGE__START_CONCURRENCY=${CONCURRENCY:-128} GROUNDCREW_WORKER__CONCURRENCY_NORMAL=${CONCURRENCY:-128}
"$groundcrew" worker --wait-for 10 >"$work/worker.log" 2>&1 &
worker=$!
pids+=("$worker")

ended() { psql "$DATABASE_URL" -qAt -c "select count(*) from groundcrew.audits where project = '$project' and ended_at is not null"; }
deadline=$((SECONDS + 600))
while [ "$(ended)" -lt "$traces" ]; do
    if ((SECONDS > deadline)); then
        echo "only $(ended) of $traces audits ended within 600 s" >&2
        tail -n 20 "$work/worker.log" >&2
        exit 1
    fi
    sleep 1
done

ticks=$(getconf CLK_TCK)
cpu=$(awk -v ticks="$ticks" '{ print ($14 + $15) / ticks }' "/proc/$worker/stat")
peak=$(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$worker/status")
psql "$DATABASE_URL" -qAt -F ' ' -c "
    select count(*), round(extract(epoch from max(ended_at) - min(ended_at))::numeric, 1),
           round(count(*) / extract(epoch from max(ended_at) - min(ended_at))::numeric)
    from groundcrew.audits where project = '$project'" |
    while read -r count seconds rate; do
        echo "audits $count, seconds $seconds, audits per second $rate, worker CPU seconds $cpu, worker peak memory $peak MiB, cores $(nproc)"
    done
