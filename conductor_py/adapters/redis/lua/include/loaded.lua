-- What a lease holder needs in order to decide: at most 1,000 events; of the first 64 attempts that they name the
-- state, claim side and output, and what the plan's reads name, within 1 MB. A caller that knows the events, or has
-- read the attempt `seq`, hands them in.
local function loaded(P, id, record, header, now, events, seq, a)
  events = events or redis.call('LRANGE', P .. 'inbox:' .. id, 0, 999)
  local key = P .. 'exec:' .. id
  local reader = new_reader(key, header_int(header, 'first_seq'), 1048576)
  local seqs, known, names, unread = {}, {}, {}, nil
  for _, event in ipairs(events) do
    local named = string.match(event, '^(%d+) ')
    if named and not known[named] and #seqs < 64 then
      known[named] = true
      local n = #names
      seqs[#seqs + 1] = named
      names[n + 1], names[n + 2], names[n + 3] = 'a:' .. named, 'c:' .. named, 'o:' .. named
      unread = unread or named ~= seq
    end
  end
  if #seqs > 0 then
    if unread then
      fetch_fields(reader, names)
      names = {}
    end
    local reads = {}
    for _, named in ipairs(seqs) do
      local state = a
      if unread then
        local text = reader.found['a:' .. named]
        state = text and cjson.decode(text)
      end
      local plan = state and P .. 'plan:' .. tostring(state.plan)
      local wanted = plan and (redis.call('HGET', plan, 'n:' .. tostring(state.ref)) or redis.call('HGET', plan, 'n:*'))
      if wanted then
        for _, read in ipairs(cjson.decode(wanted)) do
          reads[#reads + 1] = expand_vector(read, state.it or '')
        end
      end
    end
    fetch_reads(reader, names, reads)
  end
  local out = reader.out
  local n = #out
  out[n + 1], out[n + 2] = 'h', header or ''
  return {id, record.version, now, record.base, events, out}
end
