-- What a lease holder needs in order to decide: at most 1,000 events; of the first 64 attempts that they name the
-- state, claim side and output, and what the plan's reads name, within 1 MB.
local function loaded(P, id, record, header, now)
  local events = redis.call('LRANGE', P .. 'inbox:' .. id, 0, 999)
  local reader = field_reader(P .. 'exec:' .. id, header_int(header, 'first_seq'), 1048576)
  local names, seqs, known = {}, {}, {}
  for _, event in ipairs(events) do
    local seq = string.match(event, '^(%d+) ')
    if seq and not known[seq] and #seqs < 64 then
      known[seq] = true
      seqs[#seqs + 1] = seq
      names[#names + 1] = 'a:' .. seq
      names[#names + 1] = 'c:' .. seq
      names[#names + 1] = 'o:' .. seq
    end
  end
  if #names > 0 then
    local found = reader.fetch(names)
    local reads = {}
    for _, seq in ipairs(seqs) do
      local state = found['a:' .. seq]
      if state then
        local a = cjson.decode(state)
        local named = redis.call('HGET', P .. 'plan:' .. tostring(a.plan), 'n:' .. tostring(a.ref))
        if named then
          for _, read in ipairs(cjson.decode(named)) do
            reads[#reads + 1] = expand_vector(read, a.it or '')
          end
        end
      end
    end
    if #reads > 0 then
      reader.read(reads)
    end
  end
  local out = reader.out
  out[#out + 1] = 'h'
  out[#out + 1] = header
  return {id, record.version, now, record.base, events, out}
end
